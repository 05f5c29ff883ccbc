// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

const (
	minute = time.Minute
	hour   = time.Hour
	// nightly is the schedule of every workload.
	nightly = "nightly"
	// age is the age of schedules and PVCs. With an interval of an hour, the last
	// slot was half an hour ago, and the next one is in half an hour.
	age = 240*hour + 30*minute
)

type (
	spec  = v1alpha1.SnapshotScheduleSpec
	taken = environment.Taken
)

// pvc is a PVC with the snapshots taken of it, the oldest first.
type pvc struct {
	name      string
	labels    map[string]string
	snapshots []taken
}

func claim(name string, snapshots ...taken) pvc { return pvc{name: name, snapshots: snapshots} }

func claimOf(app, name string, snapshots ...taken) pvc {
	return pvc{name: name, labels: map[string]string{"app": app}, snapshots: snapshots}
}

// given creates the schedule and PVCs, all of the usual age.
func given(sp spec, claims ...pvc) func(context.Context, *environment.Run) error {
	return func(ctx context.Context, r *environment.Run) error { return create(ctx, r, age, sp, claims...) }
}

// create creates the schedule, by default with an interval of an hour, and PVCs.
// A snapshot without a nickname gets one: <PVC>-old-<n>.
func create(ctx context.Context, r *environment.Run, age time.Duration, sp spec, claims ...pvc) error {
	if sp.SnapshotInterval == "" && sp.Schedule == "" {
		sp.SnapshotInterval = "1h"
	}
	schedule, err := r.Schedule(ctx, nightly, age, sp)
	if err != nil {
		return err
	}
	return createClaimsOf(ctx, r, age, schedule, claims...)
}

// createClaims creates PVCs of the usual age, and the snapshots that a schedule has taken of them.
func createClaims(ctx context.Context, r *environment.Run, schedule *v1alpha1.SnapshotSchedule, claims ...pvc) error {
	return createClaimsOf(ctx, r, age, schedule, claims...)
}

func createClaimsOf(ctx context.Context, r *environment.Run, age time.Duration, schedule *v1alpha1.SnapshotSchedule, claims ...pvc) error {
	for _, c := range claims {
		o, err := r.Claim(ctx, c.name, age, c.labels)
		if err != nil {
			return err
		}
		for i, t := range c.snapshots {
			if t.Name == "" {
				t.Name = fmt.Sprintf("%s-old-%d", c.name, i)
			}
			if err := r.Snapshot(ctx, schedule, o, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// ready is a ready snapshot of some age.
func ready(age time.Duration) taken { return taken{Age: age} }

// current is a ready snapshot for the last slot.
func current() taken { return ready(30 * minute) }

func failed(age time.Duration) taken {
	return taken{Age: age, Unready: true, Error: "the driver could not upload it"}
}

func createConfigMap(ctx context.Context, r *environment.Run) (*corev1.ConfigMap, error) {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "other"}}
	return o, r.Client.Create(ctx, o)
}
