// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
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

// TestKnownBreaches has the smallest cases of breaches that simulations have found: fixed ones must not return, and the entry of a known
// one must be deleted once it does not occur any more.
func TestKnownBreaches(t *testing.T) {
	cases := []struct {
		oracle, text string
		fixed        bool
		run          func() *Environment
	}{
		{"S2", "without a live read of VolumeSnapshot", true, func() *Environment {
			s := hourly(v1alpha1.Retention{}, "3h")
			s.after(5*time.Hour + time.Minute)
			// The operator does not see that the newest snapshot is ready: the one before it is the floor.
			s.sim.freezeKind(kube.Snapshots, 90*time.Minute)
			s.after(2 * time.Hour)
			return s
		}},
		{"S2", "is being restored from it", false, func() *Environment {
			s := hourly(v1alpha1.Retention{}, "3h")
			s.after(2*time.Hour + 30*time.Minute)
			s.sim.freezeKind(kube.Claims, 5*time.Hour)
			first := s.Snapshots()[0].Name
			s.Create(&corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "restored"},
				Spec: corev1.PersistentVolumeClaimSpec{DataSource: &corev1.TypedLocalObjectReference{
					APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: first,
				}},
			})
			s.after(time.Hour)
			return s
		}},
		{"S2", "its age or a tier keeps it", false, func() *Environment {
			s := hourly(v1alpha1.Retention{MaxCount: new(int32(3))}, "")
			s.after(2*time.Hour + 50*time.Minute) // three snapshots
			s.sim.setClocks(2*time.Minute, 0)     // so that nothing is deleted
			s.after(20 * time.Minute)             // four
			s.sim.freezeKind(kube.Snapshots, 5*time.Hour)
			all := s.Snapshots()
			for _, gone := range all[1:3] { // a user deletes the second and the third
				must(s.sim.server.Delete(kube.Snapshots, client.ObjectKeyFromObject(gone), metav1.DeleteOptions{}, kube.NoRequest))
			}
			s.after(time.Minute)
			s.sim.setClocks(0, 0)
			s.after(20 * time.Minute)
			return s
		}},
		{"S4", "covered until the operator deleted it", true, func() *Environment {
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
		{"S1", "status counts", true, func() *Environment {
			s := hourly(v1alpha1.Retention{}, "")
			s.after(3*time.Hour + time.Second) // status says 4 snapshots, 3 ready
			s.sim.freezeKind(kube.Schedules, 5*time.Hour)
			s.after(time.Hour + 30*time.Minute) // 5, and 5 ready
			for _, v := range s.Snapshots()[:2] {
				must(s.sim.server.Delete(kube.Snapshots, client.ObjectKeyFromObject(v), metav1.DeleteOptions{}, kube.NoRequest))
			}
			s.after(time.Minute)
			return s
		}},
	}
	for _, c := range cases {
		t.Run(c.oracle+" "+c.text, func(t *testing.T) {
			s := c.run()
			violations, known := s.sim.splitKnown(oracle.Judge(s.History()))
			for _, v := range violations {
				t.Errorf("%s %s: %s", v.Oracle, v.At.Format("15:04:05"), v.Message)
			}
			if !c.fixed && len(known) == 0 {
				t.Error("it does not occur any more: delete it from knownBreaches")
			}
		})
	}
}
