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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// scene is what exists at noon, and a write: by default the delete of an expired snapshot, which is allowed.
type scene struct {
	schedule    *v1alpha1.SnapshotSchedule
	claim       *corev1.PersistentVolumeClaim
	old, recent *snapshotv1.VolumeSnapshot
	others      []client.Object
	judge       *AtWrite
	write       Attempt
	// becomes is what a write makes of the schedule.
	becomes func(*v1alpha1.SnapshotSchedule)
	// first are writes before it.
	first []Attempt
}

func remove(name string, preconditions bool) Attempt {
	a := Attempt{Verb: "delete", Resource: "volumesnapshots", Name: name, Body: []byte(`{}`)}
	if preconditions {
		a.Body = fmt.Appendf(nil, `{"preconditions":{"uid":"snapshot-%s","resourceVersion":"999"}}`, name)
	}
	return a
}

func take(v *snapshotv1.VolumeSnapshot) Attempt {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return Attempt{Verb: "create", Resource: "volumesnapshots", Name: v.Name, Body: body, Sees: true, Started: noon.Add(-time.Minute)}
}

func patchOf(name, metadata string) Attempt {
	return Attempt{Verb: "patch", Resource: "volumesnapshots", Name: name, Body: []byte(`{"metadata":{"resourceVersion":"999",` + metadata + `}}`)}
}

const controlled = `"ownerReferences":[{"apiVersion":"snapshots.mapcontroller.dev/v1alpha1","kind":"SnapshotSchedule","name":"every","uid":"schedule-every","controller":true}]`

// status is a write of the schedule's status, or of what else a test says.
func (s *scene) status(becomes func(*v1alpha1.SnapshotSchedule)) {
	s.becomes = becomes
	s.write = Attempt{Verb: "patch", Resource: "snapshotschedules", Subresource: "status", Name: s.schedule.Name, Sees: true, Started: noon}
}

func (s *scene) objects() []client.Object {
	all := append([]client.Object{s.schedule, s.claim, s.old, s.recent}, s.others...)
	all = slices.DeleteFunc(all, func(o client.Object) bool { return o.GetName() == "" })
	for _, o := range all {
		if o.GetDeletionTimestamp() != nil {
			o.SetFinalizers([]string{"example.com/kept"}) // or it would not exist
		}
	}
	return all
}

// judged returns the violations of the write of a scene.
func judged(t *testing.T, prepare func(s *scene)) (found []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(noon))
		s := &scene{
			schedule: newSchedule("every"), claim: newClaim("data"), old: ready("old", 11*day), recent: ready("recent", 6*time.Hour),
			judge: NewAtWrite(nil, namespace, func() bool { return false }, 0), write: remove("old", true),
		}
		s.judge.Moments = func(time.Time) []Moment { return nil }
		prepare(s)
		c := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithObjects(s.objects()...).Build()
		s.judge.Live = c
		for _, a := range s.first {
			answered := s.judge.Write(t.Context(), a)
			if err := c.Delete(t.Context(), &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: a.Name}}); err != nil {
				t.Fatal(err)
			}
			answered(200)
		}
		if s.becomes != nil {
			after := s.schedule.DeepCopy()
			if s.becomes(after); after.Spec.SnapshotInterval == "gone" {
				s.write.Verb, s.write.Subresource = "delete", ""
			}
		}
		answered := s.judge.Write(t.Context(), s.write)
		if s.becomes != nil {
			if s.becomes(s.schedule); s.schedule.Spec.SnapshotInterval == "gone" || s.schedule.DeletionTimestamp != nil {
				if err := c.Delete(t.Context(), s.schedule); err != nil {
					t.Fatal(err)
				}
			} else if err := c.Update(t.Context(), s.schedule); err != nil {
				t.Fatal(err)
			}
		}
		answered(200)
		found = s.judge.Found()
	})
	return found
}

type judgeCase struct {
	name    string
	prepare func(s *scene)
	// want begins the only violation; empty: there is none.
	want string
}

func run(t *testing.T, cases []judgeCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			found := judged(t, tc.prepare)
			if tc.want == "" && len(found) > 0 || tc.want != "" && (len(found) != 1 || !strings.HasPrefix(found[0], strings.SplitN(tc.want, ": ", 2)[0]) ||
				!strings.Contains(found[0], strings.TrimSpace(tc.want[strings.Index(tc.want, ":")+1:]))) {
				t.Errorf("found %q, want %q", found, tc.want)
			}
		})
	}
}

func deletingAt(at time.Time) *metav1.Time { return &metav1.Time{Time: at} }

func TestJudgesDeletes(t *testing.T) {
	reads := func(names ...string) func(string, string) bool {
		return func(resource, name string) bool { return slices.Contains(names, resource+"/"+name) }
	}
	const schedule, claim, floor = "snapshotschedules/every", "persistentvolumeclaims/data", "volumesnapshots/recent"
	run(t, []judgeCase{
		{"an expired one", func(*scene) {}, ""},
		{"no longer the version that was judged", func(s *scene) {
			s.write = remove("recent", true)
			s.write.Body = []byte(`{"preconditions":{"uid":"snapshot-recent","resourceVersion":"7"}}`)
		}, ""},
		{"another one's", func(s *scene) { s.old.OwnerReferences[0].Kind = "Backup" }, "S1: Backup every (schedule-every) controls it"},
		{"nobody's", func(s *scene) { s.old.OwnerReferences = nil }, "S1: it has no controller"},
		{"by its labels, as Orphan", func(s *scene) { s.old.OwnerReferences, s.schedule.Spec.DeletionPolicy = nil, v1alpha1.DeletionOrphan }, ""},
		{"one that has not expired", func(s *scene) { s.old = ready("old", 9*day) }, "S2: a tier keeps it"},
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
		}, "S2: a tier keeps it"},
		{"a held one", func(s *scene) { s.old.Annotations[v1alpha1.AnnotationHold] = "" }, "S2: it is held"},
		{"one that is being restored", func(s *scene) { s.others = []client.Object{restoreOf(s.old, "restored")} }, "S2: being restored"},
		{"the only ready one, which S2 does not judge", func(s *scene) { s.recent.Status.ReadyToUse, s.judge.Moments = ptr.To(false), nil }, "S3: 0 ready ones are left"},
		{"one of two, of a floor of two", func(s *scene) { s.schedule.Spec.Retention.MinReady, s.judge.Moments = ptr.To(int32(2)), nil }, "S3: 1 ready ones are left"},
		{"the last one of a PVC that is gone", func(s *scene) { s.claim, s.recent = &corev1.PersistentVolumeClaim{}, &snapshotv1.VolumeSnapshot{} }, ""},
		{"without preconditions", func(s *scene) { s.write = remove("old", false) }, "S5: without preconditions"},
		{"under an invalid spec", func(s *scene) { s.schedule.Spec.Jitter = "6h" }, "S7: invalid spec"},
		{"of a schedule that is being deleted", func(s *scene) { s.schedule.DeletionTimestamp = deletingAt(noon) }, "S7: its schedule was being deleted"},
		{"by a wrong clock", func(s *scene) { s.judge.ClockIsWrong = func() bool { return true } }, "S7: clocks differed"},
		{"from caches that are being filled", func(s *scene) { s.write.Unsynced = true }, "S7: had not synced"},
		{"in a new schedule's first hour", func(s *scene) { s.schedule.CreationTimestamp.Time = noon.Add(-time.Minute) }, "S7: its schedule, which is new"},
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
			s.old = newSnapshot("old", noon.Add(-day))
			s.old.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: ptr.To("content")}
			s.judge.Moments = func(time.Time) []Moment { // S2 alone is content
				before := s.old.DeepCopy()
				before.CreationTimestamp.Time = noon.Add(-11 * day)
				return []Moment{{From: noon, Until: noon.Add(20 * day), Objects: []client.Object{s.schedule, s.claim, before, s.recent}}}
			}
		}, "S9: imported"},
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
	slot := func(name string) *snapshotv1.VolumeSnapshot { return newSnapshot(name, noon) }
	inFlight := func(s *scene, sees bool) {
		s.judge.MaxInFlight = 1
		s.claim.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "example.com"}
		other := newClaim("other")
		other.Annotations = s.claim.Annotations
		one, two := newSnapshot("", noon.Add(-6*time.Hour)), newSnapshot("", noon)
		one.CreationTimestamp.Time = noon.Add(-time.Minute)
		one.Labels[v1alpha1.LabelMapKey] = "claim-other"
		one.Name = builders.SnapshotName("schedule-every", other, noon.Add(-6*time.Hour))
		two.Name = builders.SnapshotName("schedule-every", s.claim, noon)
		s.others = []client.Object{other, one}
		s.write = take(two)
		s.write.Sees = sees
	}
	run(t, []judgeCase{
		{"a due one", func(s *scene) { s.write = take(slot("new")) }, ""},
		{"one without a schedule", func(s *scene) {
			v := slot("new")
			v.OwnerReferences, v.Labels[v1alpha1.LabelSchedule] = nil, ""
			s.write = take(v)
		}, "S1: without a schedule"},
		{"one without a slot", func(s *scene) {
			v := slot("new")
			v.Annotations = nil
			s.write = take(v)
		}, "S1: a slot"},
		{"for a slot that is covered", func(s *scene) {
			s.recent = ready("recent", 0)
			s.write = take(slot("new"))
		}, "S4: for a slot that recent covers"},
		{"for a slot whose snapshot it has deleted", func(s *scene) {
			s.schedule.Spec.SnapshotTTL = "1h" // as long as S2 allows it
			s.old, s.recent = ready("old", 6*time.Hour), ready("recent", 0)
			s.first, s.write = []Attempt{remove("old", true)}, take(newSnapshot("new", noon.Add(-6*time.Hour)))
		}, "S4: until the operator deleted it"},
		{"for a slot whose snapshot it has deleted before its clock was set back", func(s *scene) {
			s.schedule.Spec.SnapshotTTL = "1h"
			s.old, s.recent = ready("old", 6*time.Hour), ready("recent", 0)
			s.first, s.write = []Attempt{remove("old", true)}, take(newSnapshot("new", noon.Add(-6*time.Hour)))
			asked := 0
			s.judge.ClockIsWrong = func() bool { asked++; return asked > 1 } // not at the delete
		}, ""},
		{"for no slot", func(s *scene) { s.write = take(newSnapshot("new", noon.Add(-time.Minute))) }, "Slot: which is not a slot"},
		{"for a slot of a schedule that was made older after its creation, as workloads do", func(s *scene) {
			young := s.schedule.DeepCopy()
			young.CreationTimestamp.Time = noon
			s.judge.Remember(young)
			s.recent = &snapshotv1.VolumeSnapshot{}
			s.write = take(newSnapshot("new", noon.Add(-6*time.Hour)))
		}, ""},
		{"for a time before the anchor", func(s *scene) { s.write = take(newSnapshot("new", noon.Add(-2*day))) }, "Slot: before the anchor"},
		{"for a requested time", func(s *scene) {
			s.schedule.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: noon.Add(-time.Minute).Format(time.RFC3339)}
			s.write = take(newSnapshot("new", noon.Add(-time.Minute)))
		}, ""},
		{"for a time that is requested for another PVC", func(s *scene) {
			s.schedule.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: noon.Add(-time.Minute).Format(time.RFC3339) + " other"}
			s.write = take(newSnapshot("new", noon.Add(-time.Minute)))
		}, "Slot: which is not a slot"},
		{"while one is uncut that it must know", func(s *scene) {
			s.recent = newSnapshot("recent", noon.Add(-6*time.Hour))
			s.write = take(slot("new"))
		}, "Slot: while recent existed"},
		{"while one is uncut that its user released, and that stays because its driver is down", func(s *scene) {
			s.recent = newSnapshot("recent", noon.Add(-6*time.Hour))
			s.recent.Labels[v1alpha1.LabelSchedule] = "other"
			s.write = take(slot("new"))
		}, ""},
		{"while one is uncut that it need not know", func(s *scene) {
			s.recent = newSnapshot("recent", noon.Add(-6*time.Hour))
			s.write = take(slot("new"))
			s.write.Sees = false
		}, ""},
		{"beyond the limit", func(s *scene) { inFlight(s, true) }, "FLIGHT-1: while 1 of its driver were in flight"},
		{"beyond the limit, unseen", func(s *scene) { inFlight(s, false) }, ""},
	})
}

func TestJudgesPatches(t *testing.T) {
	orphan := func(s *scene) { s.old.OwnerReferences = nil }
	run(t, []judgeCase{
		{"adopts an orphan", func(s *scene) { orphan(s); s.write = patchOf("old", controlled) }, ""},
		{"releases", func(s *scene) { s.write = patchOf("old", `"ownerReferences":null`) }, ""},
		{"undoes an adoption that was not made", func(s *scene) { orphan(s); s.write = patchOf("old", `"ownerReferences":null`) }, ""},
		{"is refused", func(s *scene) {
			orphan(s)
			s.write = patchOf("old", controlled)
			s.write.Body = []byte(`{"metadata":{"resourceVersion":"7","labels":null}}`)
		}, ""},
		{"changes labels", func(s *scene) { s.write = patchOf("old", controlled+`,"labels":null`) }, "S1: changes its labels"},
		{"changes the spec", func(s *scene) { s.write.Verb, s.write.Body = "patch", []byte(`{"spec":{}}`) }, "S1: not of its metadata"},
		{"takes over what another controls", func(s *scene) {
			s.old.OwnerReferences[0].Kind = "Backup"
			s.write = patchOf("old", controlled)
		}, "S1: Backup"},
		{"adopts what is being deleted", func(s *scene) {
			orphan(s)
			s.old.DeletionTimestamp = deletingAt(noon)
			s.write = patchOf("old", controlled)
		}, "S1: while it was being deleted"},
		{"adopts without a map key", func(s *scene) {
			orphan(s)
			delete(s.old.Labels, v1alpha1.LabelMapKey)
			s.write = patchOf("old", controlled)
		}, "S1: without a map key"},
		{"adopts another schedule's", func(s *scene) {
			orphan(s)
			s.old.Labels[v1alpha1.LabelSchedule] = "other"
			s.write = patchOf("old", controlled)
		}, "S1: that its label does not name"},
		{"adopts a member of a group", func(s *scene) {
			s.old.OwnerReferences = []metav1.OwnerReference{{APIVersion: "groupsnapshot.storage.k8s.io/v1", Kind: "VolumeGroupSnapshot", Name: "g", UID: "g"}}
			s.write = patchOf("old", controlled)
		}, "S1: a member of a VolumeGroupSnapshot"},
	})
}

func TestJudgesOtherWrites(t *testing.T) {
	run(t, []judgeCase{
		{"an event", func(s *scene) { s.write = Attempt{Verb: "create", Resource: "events", Name: "e"} }, ""},
		{"a PVC", func(s *scene) { s.write = Attempt{Verb: "delete", Resource: "persistentvolumeclaims", Name: "data"} }, "S1: delete of persistentvolumeclaims data"},
		{"an update of a snapshot", func(s *scene) { s.write = Attempt{Verb: "update", Resource: "volumesnapshots", Name: "old"} }, "S1: update of VolumeSnapshot old"},
		{"a ClusterSnapshotSchedule's status", func(s *scene) {
			s.write = Attempt{Verb: "patch", Resource: "clustersnapshotschedules", Subresource: "status", Name: namespace}
		}, ""},
		{"a ClusterSnapshotSchedule", func(s *scene) {
			s.write = Attempt{Verb: "patch", Resource: "clustersnapshotschedules", Name: namespace}
		}, "S1: of more than its status"},
		{"a status", func(s *scene) { s.status(func(o *v1alpha1.SnapshotSchedule) { o.Status.ObservedGeneration = 1 }) }, ""},
		{"a spec", func(s *scene) { s.status(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Suspend = true }) }, "S1: changed its spec"},
		{"a schedule's labels", func(s *scene) {
			s.status(func(o *v1alpha1.SnapshotSchedule) { o.Labels = map[string]string{"a": "b"} })
		}, "S1: changed its spec, labels"},
		{"a user's schedule, deleted", func(s *scene) { s.status(gone) }, "FLEET-3: it was deleted"},
		{"a status of a schedule that somebody else deletes meanwhile", func(s *scene) {
			s.schedule.Finalizers = []string{"example.com/kept"}
			s.status(func(o *v1alpha1.SnapshotSchedule) { o.DeletionTimestamp = ptr.To(metav1.NewTime(noon)) })
		}, ""},
		{"more ready than there are", func(s *scene) {
			s.status(func(o *v1alpha1.SnapshotSchedule) {
				o.Status.Outputs.VolumeSnapshots = v1alpha1.OutputCount{Total: 1, Ready: 2}
			})
		}, "S1: counts 2 ready of 1"},
		{"fewer than there were", func(s *scene) { s.status(counts(1)) }, "STAT-12: it had 2 when the operator started"},
		{"as many as there were", func(s *scene) { s.status(counts(2)) }, ""},
		{"reports Orphan while a reference is left", func(s *scene) {
			s.schedule.Spec.DeletionPolicy, s.schedule.Generation = v1alpha1.DeletionOrphan, 2
			s.status(func(o *v1alpha1.SnapshotSchedule) { o.Status.ObservedGeneration = 2 })
		}, "S8: reports its generation while 2 snapshots refer to it"},
		{"loses its finalizer while a reference is left", func(s *scene) {
			s.schedule.Spec.DeletionPolicy, s.schedule.Finalizers = v1alpha1.DeletionOrphan, []string{v1alpha1.FinalizerRelease}
			s.old.OwnerReferences = nil
			s.status(func(o *v1alpha1.SnapshotSchedule) { o.Finalizers = nil })
		}, "S8: lost its finalizer while 1 snapshots refer to it, recent"},
	})
}

func counts(total int32) func(*v1alpha1.SnapshotSchedule) {
	return func(o *v1alpha1.SnapshotSchedule) {
		o.Status.ObservedGeneration, o.Status.Inputs = o.Generation, &v1alpha1.Inputs{}
		o.Status.Outputs.VolumeSnapshots.Total = total
	}
}

// gone removes the schedule.
func gone(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotInterval = "gone" }

func TestJudgesChildren(t *testing.T) {
	const name = namespace // as in every run
	fleet := func(s *scene) *v1alpha1.ClusterSnapshotSchedule {
		f := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "fleet", Generation: 1}}
		f.Spec.Template.Spec = s.schedule.Spec
		f.Spec.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"tier": "gold"}
		s.schedule.Name = name
		s.schedule.Labels = map[string]string{v1alpha1.LabelMapKey: namespace, v1alpha1.LabelClusterSchedule: name}
		s.schedule.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(f, v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
		s.old, s.recent = &snapshotv1.VolumeSnapshot{}, &snapshotv1.VolumeSnapshot{}
		return f
	}
	// with makes the schedule a child in a namespace that is selected or not.
	with := func(selected bool, change func(*scene, *v1alpha1.ClusterSnapshotSchedule), becomes func(*v1alpha1.SnapshotSchedule)) func(*scene) {
		return func(s *scene) {
			f, n := fleet(s), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"tier": "gold"}}}
			if !selected {
				n.Labels = nil
				s.schedule.Spec.Suspend = true
				s.schedule.Status.ObservedGeneration = 1
			}
			s.others = []client.Object{f, n}
			change(s, f)
			s.status(becomes)
		}
	}
	none := func(*scene, *v1alpha1.ClusterSnapshotSchedule) {}
	released := func(s *scene, _ *v1alpha1.ClusterSnapshotSchedule) { s.schedule.OwnerReferences = nil }
	own := []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterSnapshotSchedule", Name: name, UID: "fleet", Controller: ptr.To(true)}}
	run(t, []judgeCase{
		{"keeps the template's spec", with(true, none, func(*v1alpha1.SnapshotSchedule) {}), ""},
		{"gets the template's spec", with(true, func(s *scene, _ *v1alpha1.ClusterSnapshotSchedule) { s.schedule.Spec.SnapshotTTL = "1d" },
			func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "10d" }), ""},
		{"is suspended under an old view, in which its namespace was not selected yet", with(true, func(s *scene, _ *v1alpha1.ClusterSnapshotSchedule) {
			s.judge.Remember(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		}, func(o *v1alpha1.SnapshotSchedule) { o.Spec.Suspend = true }), ""},
		{"is suspended, and its namespace was always selected", with(true, none, func(o *v1alpha1.SnapshotSchedule) { o.Spec.Suspend = true }), "FLEET-2: not the template's"},
		{"gets another spec", with(true, none, func(o *v1alpha1.SnapshotSchedule) { o.Spec.SnapshotTTL = "1d" }), "FLEET-2: not the template's"},
		{"gets labels that are not the template's", with(true, none, func(o *v1alpha1.SnapshotSchedule) { o.Labels["team"] = "a" }), "FLEET-2: labels"},
		{"is confirmed although its owner is not", with(true, none,
			func(o *v1alpha1.SnapshotSchedule) {
				o.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: "1"}
			}), "FLEET-9: nobody has confirmed"},
		{"is released with its labels", with(true, none, func(o *v1alpha1.SnapshotSchedule) { o.OwnerReferences = nil }), "FLEET-3: released although"},
		{"is adopted", with(true, released, func(o *v1alpha1.SnapshotSchedule) { o.OwnerReferences = own }), ""},
		{"is adopted without its labels", with(true, func(s *scene, f *v1alpha1.ClusterSnapshotSchedule) { released(s, f); s.schedule.Labels = nil },
			func(o *v1alpha1.SnapshotSchedule) { o.OwnerReferences = own }), "FLEET-3: adopted without"},
		{"is deleted, unselected and empty", with(false, none, gone), ""},
		{"is deleted while its namespace is selected", with(true, func(s *scene, _ *v1alpha1.ClusterSnapshotSchedule) { s.schedule.Status.ObservedGeneration = 1 }, gone), "FLEET-4: selected"},
		{"is deleted before it has observed its spec", with(false, func(s *scene, _ *v1alpha1.ClusterSnapshotSchedule) { s.schedule.Status.ObservedGeneration = 0 }, gone), "FLEET-4: before it had observed"},
		{"is deleted with snapshots", with(false, func(s *scene, _ *v1alpha1.ClusterSnapshotSchedule) {
			s.recent = ready("recent", time.Hour)
			s.recent.OwnerReferences[0].UID = s.schedule.UID
		}, gone), "FLEET-4: snapshots of it were left"},
	})
	t.Run("is created where its owner does not select", func(t *testing.T) {
		v := versions{}
		s := &scene{schedule: newSchedule(name)}
		v.add(fleet(s))
		v.add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		if clause, why := v.forbiddenCreate(s.schedule); clause != "FLEET-1" {
			t.Errorf("%s: %s", clause, why)
		}
		v.add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"tier": "gold"}}})
		if clause, why := v.forbiddenCreate(s.schedule); clause != "" {
			t.Errorf("%s: %s", clause, why)
		}
	})
}
