// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

const collectorTimeout = 3 * time.Minute

// awaitCollector waits until the garbage collector deletes a snapshot whose owner is gone: it
// discovers new kinds every 30 seconds only.
func (c *Cluster) awaitCollector(ctx context.Context) {
	if err := c.tryCollector(ctx); err != nil {
		if ctx.Err() == nil {
			c.Records.fail(err)
		}
		return
	}
	close(c.collects)
}

// Collects waits until the garbage collector works.
func (c *Cluster) Collects(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.collects:
		return nil
	case <-time.After(collectorTimeout):
		return errors.New("the garbage collector has deleted nothing for 3 minutes")
	}
}

func (c *Cluster) tryCollector(ctx context.Context) error {
	const name = "faults-collector"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Client.Create(ctx, namespace); err != nil {
		return client.IgnoreAlreadyExists(err) // an earlier run has waited on this cluster
	}
	owner := builders.Schedule(name, "owner", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"})
	if err := c.Client.Create(ctx, owner); err != nil {
		return err
	}
	owned := builders.Snapshot(owner, builders.Claim(name, "none", nil), time.Now())
	owned.Labels = nil // the operator must not see it
	if err := c.Client.Create(ctx, owned); err != nil {
		return err
	}
	if err := c.Client.Delete(ctx, owner); err != nil {
		return err
	}
	return Await(ctx, collectorTimeout, func() error {
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(owned), owned)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("the garbage collector has not deleted a snapshot whose owner is gone"))
	})
}
