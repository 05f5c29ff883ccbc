// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

func TestInFlight(t *testing.T) {
	ofDriver := func(name string) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) {
			c.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": name}
		}
	}
	other := newClaim("other")
	named := func(s *snapshotv1.VolumeSnapshot, claim string) *snapshotv1.VolumeSnapshot {
		s.Spec.Source.PersistentVolumeClaimName = &claim
		s.Name = builders.SnapshotName(controllerOf(s), newClaim(claim), s.CreationTimestamp.Time)
		return s
	}
	uncut := func(age time.Duration) *snapshotv1.VolumeSnapshot {
		return named(newSnapshot("uncut", noon.Add(-age)), "other")
	}
	byHand := uncut(time.Minute)
	byHand.Name = "by-hand"
	terminating := uncut(time.Minute)
	terminating.DeletionTimestamp = &metav1.Time{Time: noon}
	isCut := uncut(time.Minute)
	cut(isCut, noon)
	// creates is the second create of a driver.
	creates := func(driver, otherDriver string, steps ...func(*script)) func(*script) {
		return func(s *script) {
			s.editClaim(ofDriver(driver))
			edit(s, "persistentvolumeclaims/other", ofDriver(otherDriver))
			for _, do := range steps {
				do(s)
			}
			s.creates(named(newSnapshot("new", s.now), "data"))
		}
	}
	deadline := func(d v1alpha1.Duration) func(*script) {
		return func(s *script) { s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.ReadyDeadline = d }) }
	}
	const want = "while 1 of its driver were in flight, and the limit is 1"
	judge(t, func(h *history.History) []Violation { return InFlight(h, 1) }, []testCase{
		{"the first", given{other}.when(creates("a", "a")), ""},
		{"the second", given{other, uncut(time.Minute)}.when(creates("a", "a")), want},
		{"of another driver", given{other, uncut(time.Minute)}.when(creates("a", "b")), ""},
		{"of unknown drivers", given{other, uncut(time.Minute)}.when(creates("", "")), want},
		{"while somebody else's looks like one", given{other, byHand}.when(creates("a", "a")), ""},
		{"while one is uncut for a minute", given{other, uncut(time.Minute)}.when(creates("a", "a", deadline("1s"))), ""},
		{"while one is uncut for less, deadline 1s", given{other, uncut(-30 * time.Second)}.when(creates("a", "a", deadline("1s"))), want},
		{"while one is imported", given{other, imported(uncut(time.Minute))}.when(creates("a", "a")), ""},
		{"while one is being deleted", given{other, terminating}.when(creates("a", "a")), ""},
		{"while one is cut", given{other, isCut}.when(creates("a", "a")), ""},
		{"while one is uncut for an hour", given{other, uncut(time.Hour)}.when(creates("a", "a", deadline("2h"))), ""},
		{"while one is uncut for less", given{other, uncut(50 * time.Minute)}.when(creates("a", "a", deadline("2h"))), want},
		{"while one is uncut for readyDeadline", given{other, uncut(10 * time.Minute)}.when(creates("a", "a", deadline("10m"))), ""},
		{"by somebody else", given{other, uncut(time.Minute)}.when(func(s *script) {
			s.editClaim(ofDriver("a"))
			edit(s, "persistentvolumeclaims/other", ofDriver("a"))
			s.others(named(newSnapshot("new", s.now), "data"))
		}), ""},
	})
}
