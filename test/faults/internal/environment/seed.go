// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Schedule makes a schedule of some age.
func (r *Run) Schedule(ctx context.Context, name string, age time.Duration, spec v1alpha1.SnapshotScheduleSpec) (
	*v1alpha1.SnapshotSchedule, error,
) {
	s := &v1alpha1.SnapshotSchedule{ObjectMeta: r.made(name, age), Spec: spec}
	return s, r.etcd.put(ctx, s)
}

// Claim makes a PVC of some age that is Bound.
func (r *Run) Claim(ctx context.Context, name string, age time.Duration, labels map[string]string) (
	*corev1.PersistentVolumeClaim, error,
) {
	volume, err := r.volumes.next(ctx)
	if err != nil {
		return nil, err
	}
	c := &corev1.PersistentVolumeClaim{ObjectMeta: r.made(name, age)}
	c.UID = volume.claim
	c.Labels = labels
	c.Finalizers = []string{"kubernetes.io/pvc-protection"}
	c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	c.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size}, VolumeName: volume.name,
		VolumeMode: ptr.To(corev1.PersistentVolumeFilesystem), StorageClassName: ptr.To(""),
	}
	// With the condition that a controller would set else, so that it changes nothing.
	c.Status = corev1.PersistentVolumeClaimStatus{
		Phase: corev1.ClaimBound, AccessModes: modes, Capacity: size,
		Conditions: []corev1.PersistentVolumeClaimCondition{{
			Type: "Unused", Status: corev1.ConditionTrue, Reason: "NoPodsUsingPVC",
			Message: "No pods are currently referencing this PVC", LastTransitionTime: c.CreationTimestamp,
		}},
	}
	return c, r.etcd.put(ctx, c)
}

// nickname is the annotation that tells a snapshot made before the run by.
const nickname = "faults/name"

// SnapshotName is the name that the operator gives to a snapshot. Those that are
// made before a run need just that name: it is what keeps an operator with an old
// view from taking a slot twice. Workload "first" sees that it is still so.
func SnapshotName(schedule types.UID, c *corev1.PersistentVolumeClaim, slot time.Time) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", schedule, c.UID, slot.Unix()))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:10]
	return c.Name + "-" + slot.UTC().Format("20060102150405") + "-" + hash
}

// Taken describes a snapshot that was taken before the run.
type Taken struct {
	// Name is what the workload calls it.
	Name string
	// Age is how long ago it was taken, Slot how long ago its slot was; 0: as Age.
	Age, Slot time.Duration
	// Uncut and Unready snapshots never came further.
	Uncut, Unready bool
	// Error is what the driver says.
	Error string
	Held  bool
	// Protected has the snapshot controller's finalizer on it.
	Protected bool
	// Orphan has no controller. Untagged has no map key.
	Orphan, Untagged bool
	// Foreign is who controls it, if not the schedule.
	Foreign client.Object
}

// Snapshot makes a snapshot that a schedule took of a PVC before the run.
func (r *Run) Snapshot(ctx context.Context, s *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim, t Taken) error {
	at := t.Slot
	if at == 0 {
		at = t.Age
	}
	slot := r.Now.Add(-at).UTC()
	v := &snapshotv1.VolumeSnapshot{ObjectMeta: r.made(SnapshotName(s.UID, c, slot), t.Age)}
	r.nicknames[v.Name] = t.Name
	v.Labels = map[string]string{v1alpha1.LabelSchedule: s.Name, v1alpha1.LabelMapKey: string(c.UID)}
	if t.Untagged {
		delete(v.Labels, v1alpha1.LabelMapKey)
	}
	v.Annotations = map[string]string{v1alpha1.AnnotationScheduledAt: slot.Format(time.RFC3339), nickname: t.Name}
	if t.Held {
		v.Annotations[v1alpha1.AnnotationHold] = "for the audit"
	}
	if t.Protected {
		v.Finalizers = []string{finalizer}
	}
	if !t.Orphan {
		owner := client.Object(s)
		if t.Foreign != nil {
			owner = t.Foreign
		}
		if err := controllerutil.SetControllerReference(owner, v, Scheme); err != nil {
			return err
		}
	}
	v.Spec.Source.PersistentVolumeClaimName = &c.Name
	v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(!t.Unready && !t.Uncut)}
	if !t.Uncut {
		v.Status.CreationTime = ptr.To(metav1.NewTime(v.CreationTimestamp.Time))
	}
	if t.Error != "" {
		v.Status.Error = &snapshotv1.VolumeSnapshotError{Message: &t.Error, Time: ptr.To(metav1.NewTime(v.CreationTimestamp.Time))}
	}
	return r.etcd.put(ctx, v)
}

func (r *Run) made(name string, age time.Duration) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: r.Namespace, Name: name, UID: uuid.NewUUID(), Generation: 1,
		CreationTimestamp: metav1.NewTime(r.Now.Add(-age)),
	}
}

// Named is an empty object of a kind with a name, to be patched or deleted.
func Named[T client.Object](o T, namespace, name string) T {
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}
