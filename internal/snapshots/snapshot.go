// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

const (
	maxNameLength = 63
	slotLayout    = "20060102150405"
	hashLength    = 10
	// maxClaimLength is what the slot, the hash and two dashes leave.
	maxClaimLength = maxNameLength - len(slotLayout) - hashLength - 2
)

var nameEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// snapshotName is a pure function of the schedule's UID, the PVC's UID and the slot
// (the PVC's name follows from its UID). A second controller, and one that crashed
// and restarted, compute the same name, so the API server itself prevents two
// snapshots of one slot.
func snapshotName(scheduleUID, claimUID types.UID, claim string, slot time.Time) string {
	slot = slot.UTC()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", scheduleUID, claimUID, slot.Unix()))
	hash := nameEncoding.EncodeToString(sum[:])[:hashLength]
	if len(claim) > maxClaimLength {
		claim = claim[:maxClaimLength]
	}
	return strings.TrimRight(claim, ".-") + "-" + slot.Format(slotLayout) + "-" + hash
}

// newSnapshot returns the snapshot of a PVC for a slot, of a class or of the default one. The engine adds the map key,
// the schedule's label and the controllerRef.
func newSnapshot(
	s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim, class *string, slot time.Time,
) *snapshotv1.VolumeSnapshot {
	metadata := metadataOf(s, snapshotName(s.UID, claim.UID, claim.Name, slot), slot)
	if len(validation.IsValidLabelValue(claim.Name)) == 0 {
		metadata.Labels[v1alpha1.LabelClaim] = claim.Name
	}
	if volume := claim.Spec.VolumeName; volume != "" {
		metadata.Annotations[v1alpha1.AnnotationVolume] = volume
	}
	return &snapshotv1.VolumeSnapshot{
		ObjectMeta: metadata,
		Spec: snapshotv1.VolumeSnapshotSpec{
			Source:                  snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: &claim.Name},
			VolumeSnapshotClassName: class,
		},
	}
}

// metadataOf returns the metadata of a snapshot, or a group snapshot, for a slot: what the template says, and the slot.
func metadataOf(s *v1alpha1.SnapshotSchedule, name string, slot time.Time) metav1.ObjectMeta {
	template := &s.Spec.SnapshotTemplate.Metadata
	annotations := maps.Clone(template.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationScheduledAt] = slot.UTC().Format(time.RFC3339)
	labels := make(map[string]string, len(template.Labels)+3)
	for key, value := range template.Labels {
		labels[key] = string(value)
	}
	return metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations}
}
