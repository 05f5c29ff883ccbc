// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"errors"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// awaitCollector tries until the garbage collector collects a snapshot: it looks
// for new kinds every half minute only.
func (c *Cluster) awaitCollector(ctx context.Context) {
	err := c.tryCollector(ctx)
	if err != nil && ctx.Err() == nil {
		c.Records.breakOff(ctx, err)
		return
	}
	close(c.collects)
}

// Collects waits until the garbage collector is at work.
func (c *Cluster) Collects(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.collects:
		return nil
	case <-time.After(3 * time.Minute):
		return errors.New("the garbage collector has not collected anything for 3 minutes")
	}
}

func (c *Cluster) tryCollector(ctx context.Context) error {
	const name = "faults-collector"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Client.Create(ctx, namespace); err != nil {
		return client.IgnoreAlreadyExists(err) // an earlier campaign on this cluster was here
	}
	owner := &v1alpha1.SnapshotSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "owner"},
		Spec:       v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"},
	}
	if err := c.Client.Create(ctx, owner); err != nil {
		return err
	}
	owned := &snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "owned"},
		Spec: snapshotv1.VolumeSnapshotSpec{
			Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: ptr.To("none")},
		},
	}
	if err := controllerutil.SetControllerReference(owner, owned, Scheme); err != nil {
		return err
	}
	if err := c.Client.Create(ctx, owned); err != nil {
		return err
	}
	if err := c.Client.Delete(ctx, owner); err != nil {
		return err
	}
	return Await(ctx, 3*time.Minute, func() error {
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(owned), owned)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("the garbage collector has not collected a snapshot whose owner is gone"))
	})
}
