// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"encoding/json"
	"errors"
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
	// first is a write before it.
	first *Attempt
	// becomes is what the write makes of the schedule; isGone: it is deleted.
	becomes func(*v1alpha1.SnapshotSchedule)
	isGone  bool
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
	s.isGone = true
	s.write = Attempt{Verb: "delete", Resource: "snapshotschedules", Name: s.schedule.Name}
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

// found returns the violations of the write of a scene.
func (s *scene) found(t *testing.T) []string {
	c := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithObjects(s.objects()...).Build()
	s.judge.Objects = func(ctx context.Context) ([]client.Object, error) { return Read(ctx, c, namespace) }
	if s.first != nil {
		answered := s.judge.Write(t.Context(), *s.first)
		if err := c.Delete(t.Context(), s.old); err != nil {
			t.Fatal(err)
		}
		answered(200)
	}
	answered := s.judge.Write(t.Context(), s.write)
	var err error
	if s.becomes != nil {
		s.becomes(s.schedule)
		err = c.Update(t.Context(), s.schedule)
	}
	if s.isGone {
		err = errors.Join(err, c.Delete(t.Context(), s.schedule))
	}
	if err != nil {
		t.Fatal(err)
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
				found := s.found(t)
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
