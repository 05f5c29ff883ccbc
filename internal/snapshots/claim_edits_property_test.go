// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"slices"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// While a PVC stays selected, no edit of it makes a snapshot be deleted earlier than without the
// edit (guarantee S10). Two lives of one PVC under one schedule differ only in what somebody with
// the role edit does to the PVC. The driver is healthy in both.
//
// Contract: RET-13.
func TestEditsOfAClaimDeleteNothingEarlier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawEditedSchedule(t)
		original := claim("data").of(testDriver).with(func(c *corev1.PersistentVolumeClaim) {
			c.Labels = map[string]string{"app": "db"}
			c.Spec.StorageClassName = ptr.To("fast")
		})
		untouched := &claimSimulation{schedule: s, claim: original.PersistentVolumeClaim}
		edited := &claimSimulation{schedule: s, claim: original.DeepCopy()}
		now := ago(8 * day)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 30*60).Draw(t, "minutes")) * time.Minute)
			if rapid.IntRange(0, 9).Draw(t, "request") == 0 {
				s.requested(drawRequest(t, now))
			}
			if rapid.Bool().Draw(t, "edit") {
				drawClaimEdit(t, edited.claim, now)
			}
			untouched.pass(t, now)
			for _, name := range edited.pass(t, now) {
				if slices.ContainsFunc(untouched.snapshots, func(o client.Object) bool { return o.GetName() == name }) {
					t.Fatalf("at %v: %s is deleted, and without the edits it is kept", now, name)
				}
			}
		}
	})
}

func drawEditedSchedule(t *rapid.T) scheduleBuilder {
	s := every(rapid.SampledFrom([]v1alpha1.Duration{"1h", "6h", "1d"}).Draw(t, "interval")).selecting("db").
		ttl(rapid.SampledFrom([]v1alpha1.Duration{"", "", "5h", "3d"}).Draw(t, "ttl")).
		deadline(rapid.SampledFrom([]v1alpha1.Duration{"", "", "2h"}).Draw(t, "deadline")).
		minReady(rapid.Int32Range(0, 2).Draw(t, "minReady"))
	s.Spec.StorageClassNames = rapid.SampledFrom([][]v1alpha1.StorageClassName{nil, {"fast", "slow"}}).Draw(t, "storageClassNames")
	if n := rapid.Int32Range(0, 4).Draw(t, "maxCount"); n > 0 {
		s.maxCount(n)
	}
	few := rapid.SampledFrom([]int32{0, 0, 1, 3})
	s.Spec.Retention.Keep = v1alpha1.Keep{Last: few.Draw(t, "last"), Hourly: few.Draw(t, "hourly"), Daily: few.Draw(t, "daily")}
	return s
}

func drawRequest(t *rapid.T, now time.Time) string {
	at := now.Add(time.Duration(rapid.IntRange(-120, 600).Draw(t, "requested at")) * time.Minute)
	return rfc3339(at) + rapid.SampledFrom([]string{"", "", " data", " other", "x"}).Draw(t, "of")
}

// drawClaimEdit changes what somebody with the role edit can change of a PVC that stays selected. Its status is
// not among that: a PVC that is not bound for a while has its next snapshot later, in the place of another.
func drawClaimEdit(t *rapid.T, c *corev1.PersistentVolumeClaim, now time.Time) {
	edits := []string{"request", "request", "driver", "class", "annotation", "label", "finalizer", "owner"}
	switch rapid.SampledFrom(edits).Draw(t, "what") {
	case "request":
		annotate(c, v1alpha1.AnnotationRequestedAt, drawRequest(t, now))
	case "driver":
		key := rapid.SampledFrom([]string{annotationProvisioner, annotationBetaProvisioner}).Draw(t, "key")
		drivers := []string{testDriver, "two.example.com", "none.example.com", "kubernetes.io/nfs", "", "\xff"}
		annotate(c, key, rapid.SampledFrom(drivers).Draw(t, "driver"))
	case "class":
		annotate(c, corev1.BetaStorageClassAnnotation, rapid.SampledFrom([]string{"fast", "slow"}).Draw(t, "storage class"))
	case "annotation":
		keys := []string{v1alpha1.AnnotationHold, v1alpha1.AnnotationScheduledAt, v1alpha1.AnnotationConfirmGeneration}
		annotate(c, rapid.SampledFrom(keys).Draw(t, "key"), drawRequest(t, now))
	case "label":
		c.Labels[rapid.SampledFrom([]string{v1alpha1.LabelSchedule, v1alpha1.LabelMapKey, "any"}).Draw(t, "key")] = "backup"
	case "finalizer":
		c.Finalizers = append(c.Finalizers, "example.com/mine")
	case "owner":
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "mine", UID: "pod-uid", Controller: ptr.To(true)}}
	}
}

// claimSimulation is a PVC with its snapshots, which are ready as soon as they are created.
type claimSimulation struct {
	schedule  scheduleBuilder
	claim     *corev1.PersistentVolumeClaim
	snapshots []client.Object
	governors []client.Object
}

// pass decides once, and returns the names of what it deleted.
func (l *claimSimulation) pass(t *rapid.T, now time.Time) (deleted []string) {
	p, err := Compile(l.schedule.SnapshotSchedule, l.governors...)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Selects(l.claim) {
		t.Fatalf("%+v is not selected", l.claim)
	}
	d := p.Map(mapcontroller.Observation{
		Now: now, MapKey: string(l.claim.UID), Selected: []client.Object{l.claim}, Outputs: slices.Clone(l.snapshots),
		Related: []client.Object{class("one", testDriver), plainClass("a", "two.example.com"), plainClass("b", "two.example.com")},
	})
	deleted = deletesOf(d)
	l.snapshots = slices.DeleteFunc(l.snapshots, func(o client.Object) bool { return slices.Contains(deleted, o.GetName()) })
	for _, want := range d.Ensure {
		v := want.Object.(*snapshotv1.VolumeSnapshot)
		v.UID, v.CreationTimestamp = types.UID(fmt.Sprint(v.Name, "-uid")), metav1.NewTime(now)
		v.Status = &snapshotv1.VolumeSnapshotStatus{CreationTime: ptr.To(v.CreationTimestamp), ReadyToUse: ptr.To(true)}
		l.snapshots = append(l.snapshots, v)
	}
	return deleted
}
