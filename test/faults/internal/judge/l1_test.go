// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// taken is a snapshot with a generated name, for the n-th slot of PVC data.
func taken(n int, shift time.Duration) *snapshotv1.VolumeSnapshot {
	at := noon.Add(-day + shift + time.Duration(n)*6*time.Hour)
	s := ready("data-"+at.Format("20060102150405")+"-abcdefghij", 0)
	s.CreationTimestamp.Time = at
	cut(s, at)
	s.Annotations[v1alpha1.AnnotationScheduledAt] = at.Format(time.RFC3339)
	return s
}

// settled are the objects after a run that started at another time.
func settled(shift time.Duration) []client.Object {
	schedule, claim := newSchedule("every"), newClaim("data")
	schedule.CreationTimestamp.Time = schedule.CreationTimestamp.Add(shift)
	claim.CreationTimestamp = schedule.CreationTimestamp
	first, second := taken(0, shift), taken(1, shift)
	schedule.Status = v1alpha1.SnapshotScheduleStatus{
		ObservedGeneration:      1,
		Inputs:                  &v1alpha1.Inputs{PersistentVolumeClaims: v1alpha1.InputCount{Total: 1}},
		Outputs:                 v1alpha1.Outputs{VolumeSnapshots: v1alpha1.OutputCount{Total: 2, Ready: 2}},
		Detached:                &v1alpha1.Detached{},
		LastSnapshotTime:        &second.CreationTimestamp,
		NextSnapshotTime:        &second.CreationTimestamp,
		OldestRecoveryPointTime: &second.CreationTimestamp,
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonScheduled,
			LastTransitionTime: metav1.Time{Time: noon.Add(shift)},
		}, {
			Type: v1alpha1.ConditionStalled, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonValidSpec,
		}},
	}
	return []client.Object{schedule, claim, first, second}
}

func TestL1(t *testing.T) {
	reference := TakeEndState(settled(0))
	if found := L1(reference, reference); len(found) > 0 {
		t.Fatalf("a run differs from itself: %s", found[0])
	}
	schedule := func(all []client.Object) *v1alpha1.SnapshotSchedule { return all[0].(*v1alpha1.SnapshotSchedule) }
	claim := func(all []client.Object) *corev1.PersistentVolumeClaim { return all[1].(*corev1.PersistentVolumeClaim) }
	newest := func(all []client.Object) *snapshotv1.VolumeSnapshot { return all[3].(*snapshotv1.VolumeSnapshot) }
	countsOnlyTheFirst := func(all []client.Object) {
		s := schedule(all)
		s.Status.Outputs.VolumeSnapshots = v1alpha1.OutputCount{Total: 1, Ready: 1}
		s.Status.LastSnapshotTime = &all[2].(*snapshotv1.VolumeSnapshot).CreationTimestamp
		s.Status.OldestRecoveryPointTime = s.Status.LastSnapshotTime
	}
	for _, c := range []struct {
		name   string
		change func(all []client.Object) []client.Object
		want   []string
	}{
		{"the same an hour later", func(all []client.Object) []client.Object { return all }, nil},
		{"other UIDs", func(all []client.Object) []client.Object {
			schedule(all).UID, claim(all).UID = "schedule-2", "claim-2"
			for _, o := range all[2:] {
				o.GetOwnerReferences()[0].UID = "schedule-2"
				o.GetLabels()[v1alpha1.LabelMapKey] = "claim-2"
				o.SetUID(o.GetUID() + "-2")
			}
			return all
		}, nil},
		{"a snapshot is missing", func(all []client.Object) []client.Object {
			countsOnlyTheFirst(all)
			return all[:3]
		}, []string{`"slot 1, ready" is missing`}},
		{"a snapshot too many", func(all []client.Object) []client.Object {
			schedule(all).Status.Outputs.VolumeSnapshots = v1alpha1.OutputCount{Total: 3, Ready: 3}
			more := taken(2, time.Hour)
			schedule(all).Status.LastSnapshotTime, schedule(all).Status.OldestRecoveryPointTime = &more.CreationTimestamp, &more.CreationTimestamp
			return append(all, more)
		}, []string{`unexpected "slot 2, ready"`}},
		{"a snapshot is not ready", func(all []client.Object) []client.Object {
			newest(all).Status.ReadyToUse = ptr.To(false)
			s := schedule(all)
			s.Status.Outputs.VolumeSnapshots.Ready = 1
			s.Status.OldestRecoveryPointTime = &metav1.Time{Time: all[2].GetCreationTimestamp().Time}
			return all
		}, []string{`unexpected "slot 1"`, `"slot 1, ready" is missing`}},
		{"a snapshot was released", func(all []client.Object) []client.Object {
			newest(all).OwnerReferences = nil
			countsOnlyTheFirst(all)
			return all
		}, []string{`"slot 1, ready" is missing`,
			`snapshots without a schedule: unexpected "a snapshot of data, without a controller, ready"`}},
		{"a snapshot was not released although it lost its map key", func(all []client.Object) []client.Object {
			delete(newest(all).Labels, v1alpha1.LabelMapKey)
			countsOnlyTheFirst(all)
			return all
		}, []string{`"slot 1, ready" is missing`, `controlled by every and not released, ready"`}},
		{"the PVC is gone", func(all []client.Object) []client.Object {
			s := schedule(all)
			s.Status.Inputs.PersistentVolumeClaims.Total = 0
			s.Status.Detached = &v1alpha1.Detached{MapKeys: 1, VolumeSnapshots: 2}
			s.Status.OldestRecoveryPointTime = nil
			return slices.Delete(all, 1, 2)
		}, []string{`series every of data: "slot 0, ready" is missing`, `series every of data: "slot 1, ready" is missing`,
			`series every of data (gone): unexpected "a slot, ready"`, `series every of data (gone): unexpected "a slot, ready"`}},
		{"the schedule is gone", func(all []client.Object) []client.Object { return all[1:2] },
			[]string{"SnapshotSchedule every: exists is false, want true", `"slot 0, ready" is missing`, `"slot 1, ready" is missing`}},
		{"another condition", func(all []client.Object) []client.Object {
			schedule(all).Status.Conditions[0].Status = metav1.ConditionFalse
			schedule(all).Status.Conditions[0].Reason = v1alpha1.ReasonSnapshotsFailing
			return all
		}, []string{`unexpected "Ready=False, SnapshotsFailing"`, `"Ready=True, Scheduled" is missing`}},
		{"a problem without a failed snapshot", func(all []client.Object) []client.Object {
			schedule(all).Status.Problems = []v1alpha1.Problem{{PersistentVolumeClaim: "data", Reason: v1alpha1.ReasonCreateFailed}}
			return all
		}, []string{`unexpected "problem: data CreateFailed"`}},
		{"a finalizer", func(all []client.Object) []client.Object {
			schedule(all).Finalizers = []string{v1alpha1.FinalizerRelease}
			return all
		}, []string{`finalizer`}},
		{"no next snapshot", func(all []client.Object) []client.Object {
			schedule(all).Status.NextSnapshotTime = nil
			return all
		}, []string{`"a next snapshot" is missing`}},
		{"a held one", func(all []client.Object) []client.Object {
			newest(all).Annotations[v1alpha1.AnnotationHold] = ""
			return all
		}, []string{`unexpected "slot 1, ready, held"`, `"slot 1, ready" is missing`}},
		{"status counts too few", func(all []client.Object) []client.Object {
			schedule(all).Status.Outputs.VolumeSnapshots.Total = 1
			return all
		}, []string{"status.outputs.volumesnapshots.total is 1, want 2"}},
		{"status counts too many ready", func(all []client.Object) []client.Object {
			schedule(all).Status.Outputs.VolumeSnapshots.Ready = 3
			return all
		}, []string{"status.outputs.volumesnapshots.ready is 3, want 2"}},
		{"status counts no PVC", func(all []client.Object) []client.Object {
			schedule(all).Status.Inputs.PersistentVolumeClaims.Total = 0
			return all
		}, []string{"status.inputs.persistentvolumeclaims.total is 0, want 1"}},
		{"status counts detached ones", func(all []client.Object) []client.Object {
			schedule(all).Status.Detached = &v1alpha1.Detached{MapKeys: 1, VolumeSnapshots: 2}
			return all
		}, []string{"status.detached.mapKeys is 1, want 0", "status.detached.volumesnapshots is 2, want 0"}},
		{"status has an older last snapshot", func(all []client.Object) []client.Object {
			schedule(all).Status.LastSnapshotTime = &metav1.Time{Time: noon.Add(-20 * day)}
			return all
		}, []string{"status.lastSnapshotTime"}},
		{"status has a better recovery point", func(all []client.Object) []client.Object {
			schedule(all).Status.OldestRecoveryPointTime = &metav1.Time{Time: noon}
			return all
		}, []string{"status.oldestRecoveryPointTime"}},
		{"status is of an older spec", func(all []client.Object) []client.Object {
			schedule(all).Generation = 2
			return all
		}, []string{"status is of generation 1, want 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := L1(reference, TakeEndState(c.change(settled(time.Hour))))
			messages := slices.Sorted(slices.Values(found))
			all := strings.Join(messages, "\n")
			if len(messages) != len(c.want) {
				t.Fatalf("found %d, want %d:\n%s", len(messages), len(c.want), all)
			}
			for _, want := range c.want {
				if !strings.Contains(all, want) {
					t.Errorf("want %q in:\n%s", want, all)
				}
			}
		})
	}
}
