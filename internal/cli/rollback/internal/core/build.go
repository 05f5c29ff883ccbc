// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

func reclaim(v *corev1.PersistentVolume, policy corev1.PersistentVolumeReclaimPolicy) change.Change {
	return change.Patch(v, nil, map[string]any{"persistentVolumeReclaimPolicy": policy})
}

func scale(w *Workload, replicas int32) change.Change {
	return change.Patch(w.Object, nil, map[string]any{"replicas": replicas})
}

// RestoredName returns the name of the PVC that a snapshot is restored to meanwhile.
func RestoredName(claim, id string) string { return shortened(claim) + "-rollback-" + id }

// shortened leaves room for an ending in a name of 63 characters. A name that is cut is always longer than one that is not, and its hash
// tells it apart from other names that are cut, such as those of the PVCs of one StatefulSet.
func shortened(name string) string {
	if len(name) <= uncutLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	start := name[:uncutLength-2*hashBytes]
	if cut, dot := strings.CutSuffix(start, "."); dot {
		start = cut + "-"
	}
	return start + "-" + hex.EncodeToString(sum[:hashBytes])
}

// uncutLength is how long a name may be that is not cut.
const (
	uncutLength = 38
	hashBytes   = 4
)

// newSafety is a snapshot of the PVC's present data. It belongs to no schedule, so it displaces none of its snapshots, and
// stays until somebody deletes it.
func (c *Claim) newSafety(s *State) *snapshotv1.VolumeSnapshot {
	v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: shortened(c.Name) + "-before-" + s.Now.UTC().Format("20060102150405"),
		Labels:      map[string]string{v1alpha1.LabelRollback: s.lock.ID},
		Annotations: map[string]string{v1alpha1.AnnotationRollbackOf: c.Name},
	}}
	v.Spec.Source.PersistentVolumeClaimName = &c.Name
	v.Spec.VolumeSnapshotClassName = c.Class
	return v
}

// ExcludedBy is the value of the annotation exclude of a PVC that a rollback creates.
func ExcludedBy(id string) string { return snapshots.ExcludedByRollback + id }

// newRestored is the PVC that the snapshot is restored to. No schedule selects it.
func (c *Claim) newRestored(s *State) *corev1.PersistentVolumeClaim {
	p := c.Manifest.DeepCopy()
	p.Name = RestoredName(c.Name, s.lock.ID)
	p.Annotations = map[string]string{v1alpha1.AnnotationExclude: ExcludedBy(s.lock.ID), v1alpha1.AnnotationRollbackOf: c.Name}
	return p
}

// newConsumer is the pod for which the storage class of the restored PVC waits. It runs
// where the old volume can be reached.
func (c *Claim) newConsumer(s *State) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: c.restored.Name, Annotations: map[string]string{v1alpha1.AnnotationRollbackOf: c.Name},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, ActiveDeadlineSeconds: ptr.To[int64](3600), TerminationGracePeriodSeconds: ptr.To[int64](0),
			AutomountServiceAccountToken: ptr.To(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   ptr.To(true), // as which user, the image says, or a cluster that gives each namespace its own
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Volumes: []corev1.Volume{{Name: "restored", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.restored.Name},
			}}},
		},
	}
	container := corev1.Container{
		Name: "consumer", Image: s.Image,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("8Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
		},
	}
	if ptr.Deref(c.restored.Spec.VolumeMode, corev1.PersistentVolumeFilesystem) == corev1.PersistentVolumeBlock {
		container.VolumeDevices = []corev1.VolumeDevice{{Name: "restored", DevicePath: "/restored"}}
	} else {
		container.VolumeMounts = []corev1.VolumeMount{{Name: "restored", MountPath: "/restored"}}
	}
	p.Spec.Containers = []corev1.Container{container}
	if w := s.Workload; w != nil {
		p.Spec.NodeSelector, p.Spec.Tolerations = w.Template.Spec.NodeSelector, w.Template.Spec.Tolerations
	}
	if v := c.oldVolume(s); v != nil && v.Spec.NodeAffinity != nil && v.Spec.NodeAffinity.Required != nil {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: v.Spec.NodeAffinity.Required,
		}}
	}
	return p
}

// newClaim is the PVC under the old name. The volume binder compares its class and size with
// those of the volume. No schedule selects it before all PVCs have moved.
func (c *Claim) newClaim(s *State) *corev1.PersistentVolumeClaim {
	p := c.record.Claim.DeepCopy()
	p.UID, p.Spec.VolumeName = "", c.target.Name
	p.Annotations = maps.Clone(p.Annotations)
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[v1alpha1.AnnotationExclude] = ExcludedBy(s.lock.ID)
	if s.Workload == nil {
		p.Annotations[v1alpha1.AnnotationRollback] = s.renewed(7).text()
	}
	p.Spec.StorageClassName, p.Spec.VolumeAttributesClassName = &c.target.Spec.StorageClassName, c.target.Spec.VolumeAttributesClassName
	size := p.Spec.Resources.Requests[corev1.ResourceStorage]
	if capacity := c.target.Spec.Capacity[corev1.ResourceStorage]; size.Cmp(capacity) > 0 {
		p.Spec.Resources.Requests[corev1.ResourceStorage] = capacity
	}
	return p
}
