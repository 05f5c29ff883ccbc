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
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// snapshotName is a pure function of the schedule's UID, the map key and the slot. The name that it begins with follows from these:
// that of the PVC, or of a group's schedule. A second controller, and one that crashed and restarted, compute the same name, so the
// API server itself prevents two snapshots of one slot.
func snapshotName(scheduleUID, key types.UID, of string, slot time.Time) string {
	slot = slot.UTC()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", scheduleUID, key, slot.Unix()))
	hash := nameEncoding.EncodeToString(sum[:])[:hashLength]
	if len(of) > maxClaimLength {
		of = of[:maxClaimLength]
	}
	return strings.TrimRight(of, ".-") + "-" + slot.Format(slotLayout) + "-" + hash
}

// newSnapshot returns the snapshot of a subject for a slot, of a class or of the default one: a VolumeSnapshot of a PVC, a
// VolumeGroupSnapshot of a group. The engine adds the map key, the schedule's label and the controllerRef.
func newSnapshot(s *v1alpha1.SnapshotSchedule, of *subject, class *string, slot time.Time) client.Object {
	template := &s.Spec.SnapshotTemplate.Metadata
	labels := make(map[string]string, len(template.Labels)+3)
	for key, value := range template.Labels {
		labels[key] = string(value)
	}
	annotations := maps.Clone(template.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	of.annotate(annotations)
	annotations[v1alpha1.AnnotationScheduledAt] = slot.UTC().Format(time.RFC3339)
	claim, name := &of.claims[0].Name, s.Name
	if of.group == "" {
		name = *claim
	}
	metadata := metav1.ObjectMeta{Name: snapshotName(s.UID, types.UID(of.key), name, slot), Labels: labels, Annotations: annotations}
	if of.group != "" {
		return &groupv1.VolumeGroupSnapshot{ObjectMeta: metadata, Spec: groupv1.VolumeGroupSnapshotSpec{
			Source: groupv1.VolumeGroupSnapshotSource{Selector: of.selector(&s.Spec)}, VolumeGroupSnapshotClassName: class,
		}}
	}
	if len(validation.IsValidLabelValue(*claim)) == 0 {
		labels[v1alpha1.LabelClaim] = *claim
	}
	return &snapshotv1.VolumeSnapshot{ObjectMeta: metadata, Spec: snapshotv1.VolumeSnapshotSpec{
		Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: claim}, VolumeSnapshotClassName: class,
	}}
}
