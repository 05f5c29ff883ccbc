// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

func lostClass() Workload {
	return Workload{
		Name: "lost-class",
		What: "the only VolumeSnapshotClass of a driver is deleted and made again; one PVC is excluded, one has another storage class",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			if err := r.CreateClass(ctx); err != nil {
				return err
			}
			s, err := r.Schedule(ctx, nightly, age, spec{
				SnapshotInterval: "1h", SnapshotTTL: "30d", StorageClassNames: []v1alpha1.StorageClassName{"fast"},
			})
			if err != nil {
				return err
			}
			for name, change := range map[string]func(*corev1.PersistentVolumeClaim){
				"data-0":   func(*corev1.PersistentVolumeClaim) {},
				"excluded": func(c *corev1.PersistentVolumeClaim) { c.Annotations[v1alpha1.AnnotationExclude] = "" },
				"slow":     func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = ptr.To("slow") },
			} {
				c, err := r.ClaimOfDriver(ctx, name, age, change)
				if err != nil {
					return err
				}
				if name == "data-0" {
					err = r.Snapshot(ctx, s, c, taken{Name: "data-0-old-0", Age: 5*hour + 30*minute})
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
		Steps: []Step{
			{
				What: "delete the class",
				When: once(hasReady("data-0", 2), settled(v1alpha1.ReasonScheduled)),
				Do:   func(ctx context.Context, r *environment.Run) error { return r.DeleteClass(ctx) },
			},
			{
				What: "request a snapshot",
				When: once(settled(v1alpha1.ReasonSnapshotsFailing)),
				Do: func(ctx context.Context, r *environment.Run) error {
					return r.Patch(ctx, theSchedule(r), `{"metadata":{"annotations":{%q:%q}}}`,
						v1alpha1.AnnotationRequestedAt, r.Now.Add(-10*minute).UTC().Format(time.RFC3339))
				},
			},
			{
				What: "make the class again",
				When: once(settled(v1alpha1.ReasonSnapshotsFailing), problem("data-0", v1alpha1.ReasonNoSnapshotClass)),
				Do:   func(ctx context.Context, r *environment.Run) error { return r.CreateClass(ctx) },
			},
		},
		End: all(hasReady("data-0", 3), exist("data-0-old-0"), hasCount("excluded", 0), hasCount("slow", 0), settled(v1alpha1.ReasonScheduled)),
	}
}

// problem expects a problem of a PVC in status.
func problem(claim, reason string) check {
	return func(s environment.State) error {
		for _, p := range s.Schedule(nightly).Status.Problems {
			if p.PersistentVolumeClaim == claim && p.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("status does not have problem %s of PVC %s", reason, claim)
	}
}
