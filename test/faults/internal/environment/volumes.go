// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/etcd"
)

// spareVolumes is how many volumes are waiting for a PVC: enough for about a minute, because the
// binder may be late on a busy machine.
const spareVolumes = 400

// volumes are PersistentVolumes for PVCs of the future, each bound to a UID. They are stored well
// ahead: the binder sets a PVC to Lost whose volume it has not seen yet, and that would be a change
// that no plan asked for.
type volumes struct {
	etcd  etcd.Client
	spare chan volume
}

type volume struct {
	name  string
	claim types.UID
}

func newVolumes(ctx context.Context, e etcd.Client) (*volumes, error) {
	v := &volumes{etcd: e, spare: make(chan volume, 2*spareVolumes)}
	for range spareVolumes {
		if err := v.add(ctx); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (v *volumes) add(ctx context.Context) error {
	claim := uuid.NewUUID()
	name := "faults-" + string(claim)
	spec := builders.Claim("", "", nil).Spec
	o := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: spec.Resources.Requests, AccessModes: spec.AccessModes,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/none"}},
			// The binder corrects everything but the UID.
			ClaimRef: &corev1.ObjectReference{
				Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "faults-none", Name: name, UID: claim,
			},
		},
	}
	if _, err := v.etcd.Put(ctx, builders.Existing(o, uuid.NewUUID(), time.Now())); err != nil {
		return err
	}
	v.spare <- volume{name: name, claim: claim}
	return nil
}

// next returns the volume that has been waiting longest.
func (v *volumes) next(ctx context.Context) (volume, error) {
	return <-v.spare, v.add(ctx)
}
