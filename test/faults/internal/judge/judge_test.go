// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// scene is what exists at noon, and a write: by default the delete of an expired snapshot, which is allowed.
type scene struct {
	schedule    *v1alpha1.SnapshotSchedule
	claim       *corev1.PersistentVolumeClaim
	old, recent *snapshotv1.VolumeSnapshot
	others      []client.Object
	judge       *AtWrite
	write       Attempt
	// first is a write before it.
	first *Attempt
	// becomes is what the write makes of the schedule; nil: it deletes it.
	becomes func(*v1alpha1.SnapshotSchedule)
}

func remove(name string) Attempt {
	return Attempt{
		Verb: "delete", Resource: "volumesnapshots", Name: name,
		Body: fmt.Appendf(nil, `{"preconditions":{"uid":"snapshot-%s","resourceVersion":"999"}}`, name),
	}
}

// take makes the write the create of a snapshot.
func (s *scene) take(v *snapshotv1.VolumeSnapshot) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	s.write = Attempt{Verb: "create", Resource: "volumesnapshots", Name: v.Name, Body: body, Sees: true, Started: noon.Add(-time.Minute)}
}

// patch makes the write a patch of the old snapshot's metadata.
func (s *scene) patch(metadata string) {
	body := []byte(`{"metadata":{"resourceVersion":"999",` + metadata + `}}`)
	s.write = Attempt{Verb: "patch", Resource: "volumesnapshots", Name: "old", Body: body}
}

// change makes the write one of the schedule.
func (s *scene) change(becomes func(*v1alpha1.SnapshotSchedule)) {
	s.becomes = becomes
	s.write = Attempt{Verb: "patch", Resource: "snapshotschedules", Name: s.schedule.Name, Sees: true, Started: noon}
}

// delete makes the write the delete of the schedule.
func (s *scene) delete() {
	s.write = Attempt{Verb: "delete", Resource: "snapshotschedules", Name: s.schedule.Name}
}

// found returns the violations of the write of a scene.
func (s *scene) found() []string {
	objects := append([]client.Object{s.schedule, s.claim, s.old, s.recent}, s.others...)
	objects = slices.DeleteFunc(objects, func(o client.Object) bool { return o.GetName() == "" })
	for _, o := range objects {
		o.SetResourceVersion("999")
	}
	s.judge.Objects = func() []client.Object { return objects }
	remove := func(gone client.Object) {
		objects = slices.DeleteFunc(slices.Clone(objects), func(o client.Object) bool { return o == gone })
	}
	if s.first != nil {
		answered := s.judge.Write(*s.first)
		remove(s.old)
		answered(200)
	}
	answered := s.judge.Write(s.write)
	if s.write.Resource == "snapshotschedules" {
		remove(s.schedule)
	}
	if s.becomes != nil {
		after := s.schedule.DeepCopy()
		s.becomes(after)
		objects = append(objects, after)
	}
	answered(200)
	return s.judge.Found()
}

type judgeCase struct {
	name    string
	prepare func(s *scene)
	// want is the clause and a part of the only violation; empty: there is none.
	want string
}

func run(t *testing.T, cases []judgeCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(noon))
				s := &scene{
					schedule: newSchedule("every"), claim: newClaim("data"), old: ready("old", 11*day), recent: ready("recent", 6*time.Hour),
					judge: NewAtWrite(nil, namespace, func() bool { return false }), write: remove("old"),
				}
				s.judge.Moments = func(time.Time) []Moment { return nil }
				tc.prepare(s)
				found := s.found()
				clause, part, _ := strings.Cut(tc.want, ": ")
				if tc.want == "" && len(found) == 0 {
					return
				}
				if len(found) != 1 || !strings.HasPrefix(found[0], clause+": ") || !strings.Contains(found[0], part) {
					t.Errorf("found %q, want %q", found, tc.want)
				}
			})
		})
	}
}

const (
	day       = 24 * time.Hour
	namespace = "shop"
)

var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

// newSchedule is a schedule created a day ago, with interval 6h and TTL 10d.
func newSchedule(name string) *v1alpha1.SnapshotSchedule {
	return builders.Existing(builders.Schedule(namespace, name, v1alpha1.SnapshotScheduleSpec{
		SnapshotInterval: "6h", SnapshotTTL: "10d", Retention: v1alpha1.Retention{MinReady: ptr.To(int32(1))},
	}), types.UID("schedule-"+name), noon.Add(-day))
}

// newClaim is a bound PVC created a day ago.
func newClaim(name string) *corev1.PersistentVolumeClaim {
	claim := builders.BoundClaim(namespace, name, "", map[string]string{"app": "shop"})
	return builders.Existing(claim, types.UID("claim-"+name), noon.Add(-day))
}

// newSnapshot is an uncut snapshot of PVC data by schedule every, for the slot at its creation.
func newSnapshot(name string, created time.Time) *snapshotv1.VolumeSnapshot {
	v := builders.Snapshot(newSchedule("every"), newClaim("data"), created)
	v.Name = name
	return builders.Existing(v, types.UID("snapshot-"+name), created)
}

// ready is a snapshot that was cut and ready as soon as it was created.
func ready(name string, age time.Duration) *snapshotv1.VolumeSnapshot {
	s := newSnapshot(name, noon.Add(-age))
	cut(s, s.CreationTimestamp.Time)
	s.Status.ReadyToUse = ptr.To(true)
	return s
}

func cut(s *snapshotv1.VolumeSnapshot, at time.Time) {
	if s.Status == nil {
		s.Status = &snapshotv1.VolumeSnapshotStatus{}
	}
	s.Status.CreationTime = &metav1.Time{Time: at}
}

// imported is a snapshot that was made from a content.
func imported(s *snapshotv1.VolumeSnapshot) *snapshotv1.VolumeSnapshot {
	s.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: ptr.To("content")}
	return s
}

// restoreOf is a Pending PVC that is being restored from a snapshot.
func restoreOf(s *snapshotv1.VolumeSnapshot, name string) *corev1.PersistentVolumeClaim {
	claim := newClaim(name)
	claim.Status.Phase = corev1.ClaimPending
	claim.Labels = nil
	claim.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: ptr.To(snapshotv1.GroupName), Kind: "VolumeSnapshot", Name: s.Name}
	return claim
}

func TestJudgesDeletes(t *testing.T) {
	reads := func(names ...string) func(string, string) bool {
		return func(resource, name string) bool { return slices.Contains(names, resource+"/"+name) }
	}
	const schedule, claim, floor = "snapshotschedules/every", "persistentvolumeclaims/data", "volumesnapshots/recent"
	// So many others are being deleted since a time.
	piled := func(n int, since time.Time) func(s *scene) {
		return func(s *scene) {
			for i := range n {
				v := ready(fmt.Sprintf("piled-%d", i), 12*day)
				v.DeletionTimestamp = ptr.To(metav1.NewTime(since))
				s.others = append(s.others, v)
			}
			s.write.Sees, s.write.Started = true, noon.Add(-time.Hour)
		}
	}
	run(t, []judgeCase{
		{"an expired one", func(*scene) {}, ""},
		{"an expired one, while 9 are being deleted", piled(9, noon.Add(-time.Minute)), ""},
		{"an expired one, while 10 are being deleted", piled(10, noon.Add(-time.Minute)), "RET-16: while 10 of its series"},
		{"an expired one, while 10 are being deleted that it may not have seen", piled(10, noon.Add(-time.Second)), ""},
		{"an expired one, while 10 are being deleted, by an operator that is late", func(s *scene) {
			piled(10, noon.Add(-time.Minute))(s)
			s.write.Sees = false
		}, ""},
		{"an expired one, while 10 are being deleted that were never cut", func(s *scene) {
			piled(10, noon.Add(-time.Minute))(s)
			for _, o := range s.others {
				o.(*snapshotv1.VolumeSnapshot).Status = nil
			}
		}, ""},
		{"a failed one that keeps its PVC, while 10 are being deleted", func(s *scene) {
			piled(10, noon.Add(-time.Minute))(s)
			s.claim.DeletionTimestamp = ptr.To(metav1.NewTime(noon.Add(-time.Minute)))
			s.old.Status.ReadyToUse, s.old.Status.Error = ptr.To(false), &snapshotv1.VolumeSnapshotError{}
		}, ""},
		{"a failed one of an earlier PVC that keeps another of its name, while 10 are being deleted", func(s *scene) {
			piled(10, noon.Add(-time.Minute))(s)
			s.claim.UID, s.claim.DeletionTimestamp = "another", ptr.To(metav1.NewTime(noon.Add(-time.Minute)))
			s.old.Status.ReadyToUse, s.old.Status.Error = ptr.To(false), &snapshotv1.VolumeSnapshotError{}
		}, ""},
		{"no longer the version that was judged", func(s *scene) {
			s.write = remove("recent")
			s.write.Body = []byte(`{"preconditions":{"uid":"snapshot-recent","resourceVersion":"7"}}`)
		}, ""},
		{"another one's", func(s *scene) { s.old.OwnerReferences[0].Kind = "Backup" }, "S1: Backup every (schedule-every) controls it"},
		{"nobody's", func(s *scene) { s.old.OwnerReferences = nil }, "S1: it has no controller"},
		{"by its labels, as Orphan", func(s *scene) { s.old.OwnerReferences, s.schedule.Spec.DeletionPolicy = nil, v1alpha1.DeletionOrphan }, ""},
		{"one that has not expired", func(s *scene) { s.old = ready("old", 9*day) }, "S2: its age or a tier keeps it"},
		{"one that has not expired, and had a moment ago", func(s *scene) {
			long := s.schedule.DeepCopy()
			s.schedule.Spec.SnapshotTTL = "100d"
			s.judge.Moments = func(time.Time) []Moment {
				return []Moment{{From: noon.Add(-day), Until: noon.Add(-time.Second), Objects: []client.Object{long, s.claim, s.old, s.recent}}}
			}
		}, ""},
		{"one that has not expired, nor had a moment ago", func(s *scene) {
			s.old = ready("old", 9*day)
			s.judge.Moments = func(time.Time) []Moment {
				return []Moment{{From: noon.Add(-day), Until: noon, Objects: []client.Object{s.schedule, s.claim, s.old, s.recent}}}
			}
		}, "S2: its age or a tier keeps it"},
		{"a held one", func(s *scene) { s.old.Annotations[v1alpha1.AnnotationHold] = "" }, "S2: it is held"},
		{"one that is being restored", func(s *scene) { s.others = []client.Object{restoreOf(s.old, "restored")} }, "S2: being restored"},
		{"the only ready one, which S2 does not judge", func(s *scene) {
			s.recent.Status.ReadyToUse, s.judge.Moments = nil, nil
		}, "S3: 0 ready ones are left"},
		{"one of two, of a floor of two", func(s *scene) {
			s.schedule.Spec.Retention.MinReady, s.judge.Moments = ptr.To(int32(2)), nil
		}, "S3: 1 ready ones are left"},
		{"the last one of a PVC that is gone", func(s *scene) { s.claim.Name, s.recent.Name = "", "" }, ""},
		{"without preconditions", func(s *scene) { s.write.Body = []byte(`{}`) }, "S5: without preconditions"},
		{"under an invalid spec", func(s *scene) { s.schedule.Spec.Jitter = "6h" }, "S7: invalid spec"},
		{"of a schedule that is being deleted", func(s *scene) {
			s.schedule.DeletionTimestamp = &metav1.Time{Time: noon}
		}, "S7: its schedule was being deleted"},
		{"by a wrong clock", func(s *scene) { s.judge.ClockIsWrong = func() bool { return true } }, "S7: clocks differed"},
		{"from caches that are being filled", func(s *scene) { s.write.Unsynced = true }, "S7: had not synced"},
		{"in a new schedule's first hour", func(s *scene) {
			s.schedule.CreationTimestamp.Time = noon.Add(-time.Minute)
		}, "S7: its schedule, which is new"},
		{"under a delay without a record", func(s *scene) { s.schedule.Spec.Retention.EditDelay = "1h" }, "S7: no record of generation 1"},
		{"under a record of another generation", func(s *scene) {
			s.schedule.Status.Retention = &v1alpha1.RetentionRecord{Generation: 7}
		}, "S7: no record of generation 1"},
		{"before the end of the delay", func(s *scene) {
			s.schedule.Spec.Retention.EditDelay = "1h"
			s.schedule.Status.Retention = &v1alpha1.RetentionRecord{Generation: 1, SinceTime: metav1.Time{Time: noon.Add(-time.Minute)}}
		}, "S7: before the end of the delay"},
		{"of a generation that is confirmed", func(s *scene) {
			s.schedule.Spec.Retention.EditDelay = "1h"
			s.schedule.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: "1"}
		}, ""},
		{"an imported one within the TTL", func(s *scene) {
			s.old, s.judge.Moments = imported(newSnapshot("old", noon.Add(-day))), nil // S2 is not judged
		}, "S9: it was imported"},
		{"an imported one that had expired by the operator's clock", func(s *scene) {
			s.old = imported(newSnapshot("old", noon.Add(-day)))
			s.judge.Moments = func(time.Time) []Moment {
				return []Moment{{From: noon, Until: noon.Add(20 * day), Objects: []client.Object{s.schedule, s.claim, s.old, s.recent}}}
			}
		}, ""},
		{"with all live reads", func(s *scene) { s.write.Read = reads(schedule, claim, floor) }, ""},
		{"without reading the schedule", func(s *scene) { s.write.Read = reads(claim, floor) }, "S2: live read of its schedule"},
		{"without reading the PVC", func(s *scene) { s.write.Read = reads(schedule, floor) }, "S2: live read of PVC data"},
		{"without reading the floor", func(s *scene) { s.write.Read = reads(schedule, claim) }, "S2: 1 more ready ones"},
		{"a collection", func(s *scene) {
			s.write = Attempt{Verb: "deletecollection", Resource: "volumesnapshots"}
		}, "S1: deletecollection of VolumeSnapshot"},
	})
}

func TestJudgesCreates(t *testing.T) {
	expired := func(s *scene) { // the write takes the slot of a snapshot that was deleted
		s.schedule.Spec.SnapshotTTL = "1h" // as long as S2 allows it
		s.old, s.recent, s.first = ready("old", 6*time.Hour), ready("recent", 0), ptr.To(remove("old"))
		s.take(newSnapshot("new", noon.Add(-6*time.Hour)))
	}
	requested := func(claims string) func(s *scene) {
		return func(s *scene) {
			s.schedule.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: noon.Add(-time.Minute).Format(time.RFC3339) + claims}
			s.take(newSnapshot("new", noon.Add(-time.Minute)))
		}
	}
	uncut := func(s *scene) {
		s.recent = newSnapshot("recent", noon.Add(-6*time.Hour))
		s.take(newSnapshot("new", noon))
	}
	// One of another PVC is uncut.
	busy := func(change func(*snapshotv1.VolumeSnapshot)) func(s *scene) {
		return func(s *scene) {
			s.judge.InFlight = 1
			other := newClaim("other")
			one := builders.Existing(builders.Snapshot(s.schedule, other, noon.Add(-6*time.Hour)), "one", noon.Add(-time.Minute))
			change(one)
			s.others = []client.Object{other, one}
			s.take(builders.Snapshot(s.schedule, s.claim, noon))
		}
	}
	as := func(*snapshotv1.VolumeSnapshot) {}
	run(t, []judgeCase{
		{"a due one", func(s *scene) { s.take(newSnapshot("new", noon)) }, ""},
		{"one without a schedule", func(s *scene) {
			v := newSnapshot("new", noon)
			v.OwnerReferences, v.Labels[v1alpha1.LabelSchedule] = nil, ""
			s.take(v)
		}, "S1: without a schedule"},
		{"one without a slot", func(s *scene) {
			v := newSnapshot("new", noon)
			v.Annotations = nil
			s.take(v)
		}, "S1: a slot"},
		{"for a slot that is covered", func(s *scene) {
			s.recent = ready("recent", 0)
			s.take(newSnapshot("new", noon))
		}, "S4: for a slot that recent covers"},
		{"for a slot whose snapshot it has deleted", expired, "S4: until the operator deleted it"},
		{"for a slot whose snapshot it has deleted before its clock was set back", func(s *scene) {
			expired(s)
			asked := 0
			s.judge.ClockIsWrong = func() bool { asked++; return asked > 1 } // not at the delete
		}, ""},
		{"for no slot", func(s *scene) { s.take(newSnapshot("new", noon.Add(-time.Minute))) }, "Slot: which is not a slot"},
		{"for a time before the anchor", func(s *scene) { s.take(newSnapshot("new", noon.Add(-12*day))) }, "Slot: before the anchor"},
		{"in the rhythm of a snapshot that a rollback carried over", func(s *scene) {
			s.claim.CreationTimestamp.Time, s.recent = noon.Add(-time.Minute), ready("recent", 7*time.Hour)
			s.take(newSnapshot("new", noon.Add(-time.Hour)))
		}, ""},
		{"for the creation of a PVC, whose series a rollback carried over", func(s *scene) {
			s.claim.CreationTimestamp.Time, s.recent = noon.Add(-time.Minute), ready("recent", 7*time.Hour)
			s.take(newSnapshot("new", noon.Add(-time.Minute)))
		}, "Slot: which is not a slot"},
		{"in the rhythm of one that a rollback carried over and that is gone", func(s *scene) {
			s.claim.CreationTimestamp.Time, s.recent = noon.Add(-8*time.Hour), ready("recent", 7*time.Hour)
			s.recent.Annotations[v1alpha1.AnnotationRhythm] = noon.Add(-13 * time.Hour).Format(time.RFC3339)
			s.take(newSnapshot("new", noon.Add(-time.Hour)))
		}, ""},
		{"for a requested time", requested(""), ""},
		{"for a time that is requested for another PVC", requested(" other"), "Slot: which is not a slot"},
		{"while one is uncut that it must know", uncut, "Slot: while recent existed"},
		{"while one is uncut that its user released", func(s *scene) { uncut(s); s.recent.Labels[v1alpha1.LabelSchedule] = "other" }, ""},
		{"while one is uncut that was never adopted, and is being deleted", func(s *scene) {
			uncut(s)
			s.recent.OwnerReferences, s.recent.DeletionTimestamp = nil, &metav1.Time{Time: noon}
		}, ""},
		{"while one is uncut that was not adopted yet", func(s *scene) { uncut(s); s.recent.OwnerReferences = nil }, "Slot: while recent existed"},
		{"while one is uncut that it need not know", func(s *scene) { uncut(s); s.write.Sees = false }, ""},
		{"while too many are in flight", busy(as), "FLIGHT-1: while 1 were in flight"},
		{"while too many are in flight, unseen", func(s *scene) { busy(as)(s); s.write.Sees = false }, ""},
		{"while others are uploading", busy(func(v *snapshotv1.VolumeSnapshot) { cut(v, noon) }), ""},
		{"while one is uncut for long", busy(func(v *snapshotv1.VolumeSnapshot) { v.CreationTimestamp.Time = noon.Add(-time.Hour) }), ""},
		{"while one is uncut that a user made", busy(func(v *snapshotv1.VolumeSnapshot) { v.Name = "by-hand" }), ""},
		{"while one is uncut that a user released", busy(func(v *snapshotv1.VolumeSnapshot) { delete(v.Labels, v1alpha1.LabelMapKey) }), ""},
		{"without the volume of its PVC", func(s *scene) { s.claim.Spec.VolumeName = "pv"; s.take(newSnapshot("new", noon)) }, "MAP-3: volume, pv"},
	})
}

const controlled = `"ownerReferences":[{"apiVersion":"snapshots.mapcontroller.dev/v1alpha1","kind":"SnapshotSchedule","name":"every",` +
	`"uid":"schedule-every","controller":true}]`

func TestJudgesPatches(t *testing.T) {
	orphan := func(s *scene) { s.old.OwnerReferences = nil }
	run(t, []judgeCase{
		{"adopts an orphan", func(s *scene) { orphan(s); s.patch(controlled) }, ""},
		{"releases", func(s *scene) { s.patch(`"ownerReferences":null`) }, ""},
		{"undoes an adoption that was not made", func(s *scene) { orphan(s); s.patch(`"ownerReferences":null`) }, ""},
		{"is refused", func(s *scene) {
			orphan(s)
			s.patch(controlled)
			s.write.Body = []byte(`{"metadata":{"resourceVersion":"7","labels":null}}`)
		}, ""},
		{"changes labels", func(s *scene) { s.patch(controlled + `,"labels":null`) }, "S1: changes its labels"},
		{"changes the spec", func(s *scene) { s.write.Verb, s.write.Body = "patch", []byte(`{"spec":{}}`) }, "S1: not of its metadata"},
		{"takes over what another controls", func(s *scene) {
			s.old.OwnerReferences[0].Kind = "Backup"
			s.patch(controlled)
		}, "S1: Backup"},
		{"adopts what is being deleted", func(s *scene) {
			orphan(s)
			s.old.DeletionTimestamp = &metav1.Time{Time: noon}
			s.patch(controlled)
		}, "S1: while it was being deleted"},
		{"adopts without a map key", func(s *scene) {
			orphan(s)
			delete(s.old.Labels, v1alpha1.LabelMapKey)
			s.patch(controlled)
		}, "S1: without a map key"},
		{"adopts another schedule's", func(s *scene) {
			orphan(s)
			s.old.Labels[v1alpha1.LabelSchedule] = "other"
			s.patch(controlled)
		}, "S1: that its label does not name"},
		{"adopts a member of a group", func(s *scene) {
			s.old.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "groupsnapshot.storage.k8s.io/v1", Kind: "VolumeGroupSnapshot", Name: "g", UID: "g"},
			}
			s.patch(controlled)
		}, "S1: a member of a VolumeGroupSnapshot"},
	})
}

func TestJudgesOtherWrites(t *testing.T) {
	counts := func(total, ready int32) func(*v1alpha1.SnapshotSchedule) {
		return func(o *v1alpha1.SnapshotSchedule) {
			o.Status.ObservedGeneration, o.Status.Inputs = o.Generation, &v1alpha1.Inputs{}
			o.Status.Outputs.VolumeSnapshots = v1alpha1.OutputCount{Total: total, Ready: ready}
		}
	}
	run(t, []judgeCase{
		{"an event", func(s *scene) { s.write = Attempt{Verb: "create", Resource: "events", Name: "e"} }, ""},
		{"a PVC", func(s *scene) {
			s.write = Attempt{Verb: "delete", Resource: "persistentvolumeclaims", Name: "data"}
		}, "S1: delete of persistentvolumeclaims data"},
		{"an update of a snapshot", func(s *scene) { s.write.Verb = "update" }, "S1: update of VolumeSnapshot old"},
		{"a status", func(s *scene) { s.change(func(o *v1alpha1.SnapshotSchedule) { o.Status.ObservedGeneration = 1 }) }, ""},
		{"a spec", func(s *scene) { s.change(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Suspend = true }) }, "S1: changed its spec"},
		{"a schedule's labels", func(s *scene) {
			s.change(func(o *v1alpha1.SnapshotSchedule) { o.Labels = map[string]string{"a": "b"} })
		}, "S1: changed its spec, labels"},
		{"a user's schedule, deleted", func(s *scene) { s.delete() }, "S1: delete of SnapshotSchedule every"},
		{"a status of a schedule that somebody else deletes meanwhile", func(s *scene) {
			s.change(func(o *v1alpha1.SnapshotSchedule) { o.DeletionTimestamp = &metav1.Time{Time: noon} })
		}, ""},
		{"more ready than there are", func(s *scene) { s.change(counts(2, 3)) }, "S1: counts 3 ready of 2"},
		{"fewer than there were", func(s *scene) { s.change(counts(1, 1)) }, "STAT-12: it had 2 when the operator started"},
		{"as many as there were", func(s *scene) { s.change(counts(2, 2)) }, ""},
		{"reports Orphan while a reference is left", func(s *scene) {
			s.schedule.Spec.DeletionPolicy, s.schedule.Generation = v1alpha1.DeletionOrphan, 2
			s.change(func(o *v1alpha1.SnapshotSchedule) { o.Status.ObservedGeneration = 2 })
		}, "S8: reports its generation while 2 snapshots refer to it"},
		{"loses its finalizer while a reference is left", func(s *scene) {
			s.schedule.Spec.DeletionPolicy, s.schedule.Finalizers = v1alpha1.DeletionOrphan, []string{v1alpha1.FinalizerRelease}
			s.old.OwnerReferences = nil
			s.change(func(o *v1alpha1.SnapshotSchedule) { o.Finalizers = nil })
		}, "S8: lost its finalizer while 1 snapshots refer to it, recent"},
	})
}
