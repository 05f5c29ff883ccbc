// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// What the operator writes into condition Protected, and what coverage shows of the same objects.
func TestCoverageAgreesWithConditionProtected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, found, now := drawCase(t)
		s.Spec.Suspend = false // a suspended schedule may be protected; coverage shows its PVCs as unprotected
		plan := newOperator(t, s).plan(now, found)
		written := s.DeepCopy()
		known := mapcontroller.Summary{Totals: map[string]int{}, Settled: true}
		if plan.Key.Status != nil {
			known.Keys = []any{plan.Key.Status}
		}
		status := snapshots.MapController(snapshots.Options{Stores: snapshots.NewStores()}, nil, 0).Status
		status(now, written, known)
		condition := meta.FindStatusCondition(written.Status.Conditions, v1alpha1.ConditionProtected)

		inv := &inventory{claims: map[string][]client.Object{}, snapshots: map[string][]client.Object{}, classes: anyClass}
		for _, o := range found.restores {
			inv.claims[o.GetNamespace()] = append(inv.claims[o.GetNamespace()], o)
		}
		if found.claim != nil {
			inv.claims[s.Namespace] = append(inv.claims[s.Namespace], found.claim)
		}
		for _, o := range found.snapshots {
			inv.snapshots[o.GetNamespace()] = append(inv.snapshots[o.GetNamespace()], o.(*snapshotv1.VolumeSnapshot))
		}
		for _, c := range coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now).Claims {
			if found.claim == nil || c.Name != found.claim.Name || len(c.Schedules) == 0 {
				continue
			}
			switch condition.Status {
			case metav1.ConditionTrue:
				if c.Protection != protected {
					t.Errorf("coverage shows %+v, and condition Protected is %+v", c, condition)
				}
			case metav1.ConditionFalse:
				if !c.Gap {
					t.Errorf("coverage shows no gap, %+v, and condition Protected is %+v", c, condition)
				}
			default:
				if c.Gap && found.claim.Status.Phase != corev1.ClaimLost { // which is a problem, and makes Ready False
					t.Errorf("coverage shows a gap, %+v, and condition Protected is %+v", c, condition)
				}
			}
		}
	})
}
