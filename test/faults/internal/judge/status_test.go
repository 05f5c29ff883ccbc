// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// finished is what there is after some slots. A nil PVC is gone.
type finished struct {
	schedule  *v1alpha1.SnapshotSchedule
	claim     *corev1.PersistentVolumeClaim
	snapshots []*snapshotv1.VolumeSnapshot
}

// take takes the n-th slot, and has it ready at once.
func (r *finished) take(n int) {
	at := r.schedule.CreationTimestamp.Add(time.Duration(n) * 6 * time.Hour)
	v := builders.Existing(builders.Snapshot(r.schedule, r.claim, at), "", at)
	cut(v, at)
	v.Status.ReadyToUse = ptr.To(true)
	r.snapshots = append(r.snapshots, v)
}

func (r *finished) newest() *snapshotv1.VolumeSnapshot { return r.snapshots[1] }

// objects returns what there is, with the status that is right.
func (r *finished) objects() (all []client.Object) {
	if r.claim != nil {
		all = append(all, r.claim)
	}
	for _, v := range r.snapshots {
		all = append(all, v)
	}
	status := StateOf(append(all, r.schedule)).wantStatus(r.schedule, noon)
	status.ObservedGeneration, status.NextSnapshotTime = 1, &r.schedule.CreationTimestamp
	status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonScheduled},
		{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonValidSpec},
		{Type: v1alpha1.ConditionProtected, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRecoveryPointsOld},
	}
	r.schedule.Status = status
	return append(all, r.schedule)
}

// finish returns what there is after two slots.
func finish() *finished {
	r := &finished{schedule: newSchedule("every"), claim: newClaim("data")}
	r.take(0)
	r.take(1)
	return r
}

func TestWantStatus(t *testing.T) {
	r := finish()
	r.objects()
	second := noon.Add(-day + 6*time.Hour)
	if s := r.schedule.Status; s.Inputs.PersistentVolumeClaims.Total != 1 ||
		s.Outputs.VolumeSnapshots != (v1alpha1.OutputCount{Total: 2, Ready: 2}) || *s.Detached != (v1alpha1.Detached{}) ||
		!s.LastSnapshotTime.Time.Equal(second) || !s.OldestRecoveryPointTime.Time.Equal(second) {
		t.Errorf("with a PVC: %+v", s)
	}
	r.claim = nil
	r.objects()
	if s := r.schedule.Status; s.Inputs.PersistentVolumeClaims.Total != 0 ||
		*s.Detached != (v1alpha1.Detached{MapKeys: 1, VolumeSnapshots: 2}) || s.OldestRecoveryPointTime != nil {
		t.Errorf("without it: %+v", s)
	}
}

func TestStatusErrors(t *testing.T) {
	type status = v1alpha1.SnapshotScheduleStatus
	for _, c := range []struct {
		name   string
		status func(s *status) // what it is instead of what is right
		want   string
	}{
		{"it is right", func(*status) {}, ""},
		{"it counts too few", func(s *status) { s.Outputs.VolumeSnapshots.Total = 1 }, "Total:"},
		{"it counts no PVC", func(s *status) { s.Inputs = nil }, "Inputs:"},
		{"it counts detached ones", func(s *status) { s.Detached.MapKeys = 1 }, "MapKeys:"},
		{"it has an older last snapshot", func(s *status) {
			s.LastSnapshotTime = &metav1.Time{Time: noon.Add(-20 * day)}
		}, "LastSnapshotTime:"},
		{"it has a better recovery point", func(s *status) {
			s.OldestRecoveryPointTime = &metav1.Time{Time: noon}
		}, "OldestRecoveryPointTime:"},
		{"it is of an older spec", func(s *status) { s.ObservedGeneration = 0 }, "status is of generation 0, want 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := finish()
			all := r.objects()
			c.status(&r.schedule.Status)
			if found := StatusErrors(StateOf(all), noon); (c.want == "") != (len(found) == 0) || !strings.Contains(strings.Join(found, "; "), c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

func TestStatusErrorsDependOnTheTime(t *testing.T) {
	r := finish()
	all := r.objects()
	// A snapshot with a creation time in the future: until then its age counts from its creation.
	cut(r.newest(), noon.Add(day))
	if got := StatusErrors(StateOf(all), noon); len(got) > 0 {
		t.Errorf("before the creation time: got %q", got)
	}
	if got := StatusErrors(StateOf(all), noon.Add(day)); len(got) != 1 || !strings.Contains(got[0], "OldestRecoveryPointTime") {
		t.Errorf("after the creation time: got %q, want the recovery point", got)
	}
}

func TestStatusErrorsOfDeletesThatDoNotEnd(t *testing.T) {
	since := func(d time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(noon.Add(-d))) }
	for _, tc := range []struct {
		name  string
		since *metav1.Time
		shown bool
		want  bool
	}{
		{"shown", since(62 * time.Minute), true, false},
		{"not shown", since(62 * time.Minute), false, true},
		{"shown at once", since(time.Hour), true, false},
		{"not shown yet", since(time.Hour), false, false},
		{"shown too early", since(59 * time.Minute), true, true},
		{"shown, and nothing is being deleted", nil, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := finish()
			r.snapshots[0].DeletionTimestamp = tc.since
			st := StateOf(r.objects())
			if tc.shown {
				r.schedule.Status.Problems = []v1alpha1.Problem{{Reason: v1alpha1.ReasonDeletionStuck}}
			}
			if found := st.stuckErrors(r.schedule, noon); (len(found) > 0) != tc.want {
				t.Errorf("found %q, want some: %t", found, tc.want)
			}
		})
	}
}

func TestStatusErrorsOfAnInvalidSpec(t *testing.T) {
	type schedule = v1alpha1.SnapshotSchedule
	problem := func(claim, reason string) func(*schedule) {
		return func(s *schedule) {
			s.Status.Problems = []v1alpha1.Problem{{PersistentVolumeClaim: claim, Reason: reason}}
		}
	}
	for name, tc := range map[string]struct {
		change func(*schedule)
		want   string
	}{
		"as it should be":           {func(*schedule) {}, ""},
		"not stalled":               {func(s *schedule) { s.Status.Conditions[0].Status = metav1.ConditionFalse }, "condition Stalled"},
		"not paused":                {func(s *schedule) { s.Status.Conditions[1].Status = metav1.ConditionFalse }, "retention is not paused"},
		"paused for another reason": {func(s *schedule) { s.Status.Conditions[1].Reason = "" }, "retention is not paused"},
		"old counts":                {func(s *schedule) { s.Status.Inputs = &v1alpha1.Inputs{} }, "Inputs:"},
		"old times":                 {func(s *schedule) { s.Status.NextSnapshotTime = &metav1.Time{Time: noon} }, "NextSnapshotTime:"},
		"an old problem":            {problem("data", v1alpha1.ReasonSnapshotFailed), "SnapshotFailed"},
		"a problem of its own":      {problem("", v1alpha1.ReasonInvalidRequestedAt), ""},
		"old problems beyond ten":   {func(s *schedule) { s.Status.MoreProblems = 1 }, "MoreProblems:"},
		"stalled, but valid": {func(s *schedule) {
			s.Spec.Jitter, s.Status.Inputs, s.Status.Detached = "", &v1alpha1.Inputs{}, &v1alpha1.Detached{}
			s.Status.Conditions = append(s.Status.Conditions,
				metav1.Condition{Type: v1alpha1.ConditionProtected, Reason: v1alpha1.ReasonNoMatchingClaims})
		}, "condition Stalled"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSchedule("every")
			s.Spec.Jitter = "6h" // the interval
			s.Status.ObservedGeneration = 1
			s.Status.Conditions = []metav1.Condition{
				{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonInvalidSpec},
				{Type: v1alpha1.ConditionRetentionPaused, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonInvalidSpec},
			}
			tc.change(s)
			found := StatusErrors(StateOf([]client.Object{s}), noon)
			if (tc.want == "") != (len(found) == 0) || len(found) > 1 || !strings.Contains(strings.Join(found, ""), tc.want) {
				t.Errorf("found %q, want %q", found, tc.want)
			}
		})
	}
}

// At a minute past noon, all is as it was at noon.
func TestLate(t *testing.T) {
	failed := ready("failed", 12*day)
	failed.Status.ReadyToUse, failed.Status.Error = ptr.To(false), &snapshotv1.VolumeSnapshotError{}
	suspended := func(s *v1alpha1.SnapshotSchedule, _ *corev1.PersistentVolumeClaim) { s.Spec.Suspend = true }
	for _, c := range []struct {
		name      string
		snapshots []client.Object
		change    func(*v1alpha1.SnapshotSchedule, *corev1.PersistentVolumeClaim)
		want      string
	}{
		{"nothing is taken", nil, nil, "PVC data got no snapshot for slot 2026-06-15T12:00:00Z"},
		{"it is taken", []client.Object{newSnapshot("a", noon)}, nil, ""},
		{"an older slot is taken", []client.Object{ready("a", 6*time.Hour)}, nil, "got no snapshot for slot 2026-06-15T12:00:00Z"},
		{"one is in progress", []client.Object{newSnapshot("a", noon.Add(-6*time.Hour))}, nil, ""},
		{"it is not bound", nil, func(_ *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim) {
			c.Status.Phase = corev1.ClaimPending
		}, ""},
		{"it is suspended", nil, suspended, ""},
		{"it is suspended and asked for", nil, func(s *v1alpha1.SnapshotSchedule, _ *corev1.PersistentVolumeClaim) {
			s.Spec.Suspend = true
			s.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: noon.Add(time.Second).Format(time.RFC3339)}
		}, "got no snapshot for slot 2026-06-15T12:00:01Z"},
		{"an expired one stays", []client.Object{ready("a", 0), ready("b", 2*day), ready("c", 11*day)}, nil, "c was not deleted"},
		{"an expired one is the floor", []client.Object{newSnapshot("a", noon), ready("c", 11*day)}, nil, ""},
		{"an expired one failed", []client.Object{ready("a", 0), failed}, nil, "failed was not deleted"},
	} {
		schedule, claim := newSchedule("every"), newClaim("data")
		if c.change != nil {
			c.change(schedule, claim)
		}
		all := StateOf(append([]client.Object{schedule, claim}, c.snapshots...))
		found := strings.Join(Late(all, noon.Add(time.Minute), 10*time.Second), "; ")
		if (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
			t.Errorf("%s: found %q, want %q", c.name, found, c.want)
		}
	}
}

func TestProtectedReason(t *testing.T) {
	const (
		old     = v1alpha1.ReasonRecoveryPointsOld
		current = v1alpha1.ReasonRecoveryPointsCurrent
		pending = v1alpha1.ReasonFirstSnapshotsPending
	)
	type change func(*v1alpha1.SnapshotSchedule, *corev1.PersistentVolumeClaim)
	type snapshots []*snapshotv1.VolumeSnapshot
	created := func(ago time.Duration) change {
		return func(_ *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim) {
			c.CreationTimestamp.Time = noon.Add(-ago)
		}
	}
	unbound := func(_ *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim) {
		c.Status.Phase = corev1.ClaimPending
	}
	// It delays the slots by 694 seconds.
	jitter := func(s *v1alpha1.SnapshotSchedule, _ *corev1.PersistentVolumeClaim) { s.Spec.Jitter = "1h" }
	// The schedule has slots each 6h, the latest one at noon.
	for name, tc := range map[string]struct {
		change    change
		snapshots snapshots
		want      string
	}{
		"the latest slot":          {snapshots: snapshots{ready("a", 0)}, want: current},
		"the slot before":          {snapshots: snapshots{ready("a", 6*time.Hour)}, want: current},
		"two slots before":         {snapshots: snapshots{ready("a", 12*time.Hour)}, want: old},
		"none":                     {want: old},
		"one that is not ready":    {snapshots: snapshots{newSnapshot("a", noon)}, want: old},
		"none yet":                 {change: created(59 * time.Minute), want: pending},
		"none after readyDeadline": {change: created(time.Hour), want: old},
		"one that a rollback carried over": {change: created(time.Minute),
			snapshots: snapshots{ready("a", time.Hour)}, want: current},
		"one that a rollback carried over, of two slots before": {change: created(time.Minute),
			snapshots: snapshots{ready("a", 12*time.Hour)}, want: old},
		"an imported one, of a slot":   {snapshots: snapshots{imported(ready("a", 0))}, want: current},
		"a PVC that is not bound":      {change: unbound, want: v1alpha1.ReasonNoMatchingClaims},
		"the slot before, with jitter": {change: jitter, snapshots: snapshots{ready("a", 12*time.Hour-694*time.Second)}, want: current},
		"an older one, with jitter":    {change: jitter, snapshots: snapshots{ready("a", 12*time.Hour-693*time.Second)}, want: old},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := newSchedule("every"), newClaim("data")
			if tc.change != nil {
				tc.change(s, c)
			}
			objects := []client.Object{s, c}
			for _, v := range tc.snapshots {
				objects = append(objects, v)
			}
			if got := StateOf(objects).protectedReason(s, noon); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
