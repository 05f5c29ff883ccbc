// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// ahead is how many volumes wait for a PVC: those of a minute or so, for the binder
// may be late on a machine that has much to do.
const ahead = 400

// volumes are PersistentVolumes for PVCs to come, each meant for one UID. They are
// made well ahead: the binder calls a PVC Lost whose volume it has not heard of
// yet, and that would be news that no plan has asked for.
type volumes struct {
	etcd    etcd
	waiting chan volume
}

type volume struct {
	name  string
	claim types.UID
}

var (
	size  = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
)

func newVolumes(ctx context.Context, e etcd) (*volumes, error) {
	v := &volumes{etcd: e, waiting: make(chan volume, 2*ahead)}
	for range ahead {
		if err := v.add(ctx); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (v *volumes) add(ctx context.Context) error {
	claim := uuid.NewUUID()
	name := "faults-" + string(claim)
	o := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: uuid.NewUUID(), CreationTimestamp: metav1.NewTime(time.Now())},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/none"}},
			// The binder corrects all but the UID.
			ClaimRef: &corev1.ObjectReference{
				Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "faults-none", Name: name, UID: claim,
			},
		},
	}
	if err := v.etcd.put(ctx, o); err != nil {
		return err
	}
	v.waiting <- volume{name: name, claim: claim}
	return nil
}

// next is the volume that has waited the longest.
func (v *volumes) next(ctx context.Context) (volume, error) {
	return <-v.waiting, v.add(ctx)
}
