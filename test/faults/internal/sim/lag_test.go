// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// hourly is an environment with a PVC, and a schedule that takes a snapshot of it every hour.
func hourly(retention v1alpha1.Retention, ttl v1alpha1.Duration) *Environment {
	s := NewEnvironment(startTime)
	s.Claim("data")
	s.Create(&v1alpha1.SnapshotSchedule{
		ObjectMeta: metav1.ObjectMeta{Name: "plan"},
		Spec:       v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", SnapshotTTL: ttl, Retention: retention},
	})
	return s
}

func (e *Environment) after(d time.Duration) { e.RunUntil(e.Now().Add(d)) }

func (e *Environment) delete(v *snapshotv1.VolumeSnapshot) {
	must(e.sim.server.Delete(kube.Snapshots, client.ObjectKeyFromObject(v), metav1.DeleteOptions{}, kube.NoRequest))
}

func (e *Environment) editSpec(change func(*v1alpha1.SnapshotScheduleSpec)) {
	_, err := e.sim.server.Update(kube.Schedules, client.ObjectKey{Namespace: e.namespace, Name: "plan"}, kube.NoRequest, func(o client.Object) error {
		change(&o.(*v1alpha1.SnapshotSchedule).Spec)
		return nil
	})
	must(err)
}

// successor is a copy of a snapshot that covers the slot an hour later, with data, and has the same owner.
func successor(v *snapshotv1.VolumeSnapshot) *snapshotv1.VolumeSnapshot {
	slot, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.AnnotationScheduledAt])
	must(err)
	content := "content"
	return &snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{
			Name: "successor", Labels: v.Labels, OwnerReferences: v.OwnerReferences,
			Annotations: map[string]string{v1alpha1.AnnotationScheduledAt: slot.Add(time.Hour).Format(time.RFC3339)},
		},
		Spec: snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: &content}},
	}
}

// TestLateCaches has the smallest cases of what an operator with a late cache does, and what of it only the cache allows.
//
// Contract: GUARD-9.
func TestLateCaches(t *testing.T) {
	for name, test := range map[string]struct {
		// byCache is the guarantee that only the cache upholds, empty if none.
		byCache string
		run     func() *Environment
	}{
		"a newer snapshot is ready, which the cache does not show": {run: func() *Environment {
			s := hourly(v1alpha1.Retention{}, "3h")
			s.after(5*time.Hour + time.Minute)
			s.sim.freezeKind(kube.Snapshots, 90*time.Minute) // the one before the newest is the floor
			s.after(2 * time.Hour)
			return s
		}},
		"a restore": {byCache: "S2", run: func() *Environment {
			s := hourly(v1alpha1.Retention{}, "3h")
			s.after(2*time.Hour + 30*time.Minute)
			s.sim.freezeKind(kube.Claims, 5*time.Hour)
			s.Create(&corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "restored"},
				Spec: corev1.PersistentVolumeClaimSpec{DataSource: &corev1.TypedLocalObjectReference{
					APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: s.Snapshots()[0].Name,
				}},
			})
			s.after(time.Hour)
			return s
		}},
		"newer snapshots that a user has deleted": {byCache: "S2", run: func() *Environment {
			s := hourly(v1alpha1.Retention{MaxCount: new(int32(3))}, "")
			s.after(2*time.Hour + 50*time.Minute) // three snapshots
			s.sim.setClocks(2*time.Minute, 0)     // so that nothing is deleted
			s.after(20 * time.Minute)             // four
			s.sim.freezeKind(kube.Snapshots, 5*time.Hour)
			for _, gone := range s.Snapshots()[1:3] {
				s.delete(gone)
			}
			s.after(time.Minute)
			s.sim.setClocks(0, 0)
			s.after(20 * time.Minute)
			return s
		}},
		"a snapshot that covers the slot of a failed uncut one": {byCache: "S2", run: func() *Environment {
			s := hourly(v1alpha1.Retention{}, "1d")
			s.sim.driver.modes["data"] = down
			s.after(50 * time.Minute)
			s.sim.freezeKind(kube.Snapshots, 5*time.Hour)
			s.after(time.Minute)
			s.Create(successor(s.Snapshots()[0]))
			s.after(time.Hour)
			return s
		}},
		"an edit, after which the newest snapshot expired": {byCache: "S4", run: func() *Environment {
			s := hourly(v1alpha1.Retention{MinReady: new(int32(0))}, "1d")
			s.after(10 * time.Minute)
			s.editSpec(func(spec *v1alpha1.SnapshotScheduleSpec) { spec.SnapshotTTL = "30m" })
			edited := len(s.sim.changes[kube.Schedules])
			s.after(40 * time.Minute)
			s.sim.operators[0].kill()
			behind := []int{len(s.sim.changes[kube.Schedules]) - edited + 1, 0, 0}
			o := s.sim.start(s.sim.statusInterval, func() (n int) { n, behind = behind[0], behind[1:]; return n })
			o.informers[kube.Schedules].freeze(time.Hour)
			s.after(5 * time.Minute)
			return s
		}},
		"a backup tool's copy of a snapshot that was replaced": {run: func() *Environment {
			s := hourly(v1alpha1.Retention{MinReady: new(int32(0)), Keep: v1alpha1.Keep{Weekly: 3}}, "")
			s.after(30 * time.Minute)
			old := s.Snapshots()[0]
			s.after(time.Hour) // the next one replaces it
			s.Create(&snapshotv1.VolumeSnapshot{
				ObjectMeta: metav1.ObjectMeta{Name: old.Name, Labels: old.Labels, Annotations: old.Annotations},
				Spec:       old.Spec,
			})
			s.after(20 * time.Minute)
			return s
		}},
		"an older status of the schedule": {run: func() *Environment {
			s := hourly(v1alpha1.Retention{}, "")
			s.after(3*time.Hour + time.Second) // status says 4 snapshots, 3 ready
			s.sim.freezeKind(kube.Schedules, 5*time.Hour)
			s.after(time.Hour + 30*time.Minute) // 5, and 5 ready
			for _, v := range s.Snapshots()[:2] {
				s.delete(v)
			}
			s.after(time.Minute)
			return s
		}},
	} {
		t.Run(name, func(t *testing.T) {
			found := oracle.JudgeAll(test.run().History())
			for _, v := range found.Violations {
				t.Errorf("%s %s: %s", v.Oracle, v.At.Format("15:04:05"), v.Message)
			}
			is := func(v oracle.Violation) bool { return v.Oracle == test.byCache }
			if test.byCache == "" && len(found.ByCache) > 0 || test.byCache != "" && !slices.ContainsFunc(found.ByCache, is) {
				t.Errorf("by the cache: %v, want %q", found.ByCache, test.byCache)
			}
		})
	}
}
