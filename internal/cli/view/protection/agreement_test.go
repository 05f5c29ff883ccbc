// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// What the operator writes into condition Protected, and what coverage shows of the same objects.
func TestCoverageAgreesWithConditionProtected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, found, now := clitest.DrawCase(t)
		s.Spec.Suspend = false // a suspended schedule may be protected; coverage shows its PVCs as unprotected
		plan := clitest.NewOperator(t, s).Plan(now, found)
		written := s.DeepCopy()
		known := mapcontroller.Summary{Totals: map[string]int{}, Settled: true}
		if plan.Key.Status != nil {
			known.Keys = []any{plan.Key.Status}
		}
		status := snapshots.MapController(snapshots.Options{Stores: snapshots.NewStores()}, nil, 0).Status.OfParent
		status(now, written, known)
		condition := meta.FindStatusCondition(written.Status.Conditions, v1alpha1.ConditionProtected)

		inv := &view.Inventory{Claims: map[string][]client.Object{}, Snapshots: map[string][]client.Object{}, Classes: clitest.AnyClass}
		for _, o := range found.Restores {
			inv.Claims[o.GetNamespace()] = append(inv.Claims[o.GetNamespace()], o)
		}
		if found.Claim != nil {
			inv.Claims[s.Namespace] = append(inv.Claims[s.Namespace], found.Claim)
		}
		for _, o := range found.Snapshots {
			inv.Snapshots[o.GetNamespace()] = append(inv.Snapshots[o.GetNamespace()], o.(*snapshotv1.VolumeSnapshot))
		}
		for _, c := range CoverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now).Claims {
			if found.Claim == nil || c.Name != found.Claim.Name || len(c.Schedules) == 0 {
				continue
			}
			switch condition.Status {
			case metav1.ConditionTrue:
				if c.Protection != Protected {
					t.Errorf("coverage shows %+v, and condition Protected is %+v", c, condition)
				}
			case metav1.ConditionFalse:
				if !c.Gap {
					t.Errorf("coverage shows no gap, %+v, and condition Protected is %+v", c, condition)
				}
			default:
				if c.Gap && found.Claim.Status.Phase != corev1.ClaimLost { // which is a problem, and makes Ready False
					t.Errorf("coverage shows a gap, %+v, and condition Protected is %+v", c, condition)
				}
			}
		}
	})
}
