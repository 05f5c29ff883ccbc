// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"encoding/json"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// maxName is how long the name of an object can be. The schema of VolumeSnapshots
// bounds none of the names in them.
const maxName = 253

// noName stands in the cache for a longer name. Nothing can have it, and it is not nil:
// which of its two sources a snapshot has says whether it was imported.
var noName = ptr.To("-")

func bounded(name *string) *string {
	if name != nil && len(*name) > maxName {
		return noName
	}
	return name
}

func stripSnapshot(o any) (any, error) {
	v, ok := o.(*snapshotv1.VolumeSnapshot)
	if !ok {
		return o, nil
	}
	v.ManagedFields = nil
	v.Finalizers = nil
	v.SelfLink = "" //nolint:staticcheck // nobody fills it any more, but a user may write any text into it
	volume := backup.VolumeText(v)
	v.Labels = only(v.Labels, v1alpha1.LabelMapKey, v1alpha1.LabelSchedule)
	stripVolume(v, volume)
	v.GenerateName = backup.SlotText(v)
	v.Annotations = stripAnnotations(v)
	// The class of an uncut one tells whose limit it counts towards, and that of a deleted one whether its data stays, if
	// there can be one of its name.
	if class := v.Spec.VolumeSnapshotClassName; class != nil && len(*class) > maxName {
		v.Spec.VolumeSnapshotClassName = nil
	}
	source := &v.Spec.Source
	source.PersistentVolumeClaimName, source.VolumeSnapshotContentName =
		bounded(source.PersistentVolumeClaimName), bounded(source.VolumeSnapshotContentName)
	if v.Status != nil {
		v.Status.VolumeGroupSnapshotName = bounded(v.Status.VolumeGroupSnapshotName)
		v.Status.BoundVolumeSnapshotContentName = nil
		v.Status.RestoreSize = nil
		if v.Status.Error != nil {
			stripped := &snapshotv1.VolumeSnapshotError{Time: v.Status.Error.Time}
			if text := backup.DriverError(v); text != "" {
				stripped.Message = &text
			}
			v.Status.Error = stripped
		}
	}
	return v, nil
}

// stripAnnotations returns the annotations that decisions read, without what is malformed.
func stripAnnotations(v *snapshotv1.VolumeSnapshot) (kept map[string]string) {
	keep := func(key, value string) {
		if kept == nil {
			kept = make(map[string]string, 1)
		}
		kept[key] = value
	}
	read := backup.Of(v)
	if at := read.VerifiedAt; !at.IsZero() {
		keep(v1alpha1.AnnotationVerifiedAt, at.Format(time.RFC3339Nano))
	}
	if at := read.Rhythm; !at.IsZero() {
		keep(v1alpha1.AnnotationRhythm, at.Format(time.RFC3339Nano))
	}
	if failed := backup.FailedDrillOf(v); !failed.At.IsZero() {
		keep(v1alpha1.AnnotationVerifyFailed, failed.String())
	}
	switch end, held := backup.HeldUntil(v); {
	case !held:
	case !end.Equal(retention.Forever):
		keep(v1alpha1.AnnotationHold, end.Format(time.RFC3339Nano))
	case kept == nil:
		return onHold
	default:
		keep(v1alpha1.AnnotationHold, "")
	}
	return kept
}

// onHold are the annotations of all cached snapshots that are held for ever and have no
// drills: why they are held does not matter. It is never changed.
var onHold = map[string]string{v1alpha1.AnnotationHold: ""}

func stripClaim(o any) (any, error) {
	claim, ok := o.(*corev1.PersistentVolumeClaim)
	if !ok {
		return o, nil
	}
	claim.ManagedFields = nil
	claim.Finalizers = nil
	claim.Annotations = only(claim.Annotations, claimAnnotations...)
	for _, key := range [...]string{annotationProvisioner, annotationBetaProvisioner} {
		if driverNamed(claim.Annotations[key]) == "" { // it may be long, and means nothing
			delete(claim.Annotations, key)
		}
	}
	if len(claim.Annotations) == 0 {
		claim.Annotations = nil
	}
	volume := claim.Spec.VolumeName
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		DataSource:       claim.Spec.DataSource,
		DataSourceRef:    claim.Spec.DataSourceRef,
		StorageClassName: claim.Spec.StorageClassName,
	}
	if len(volume) <= maxName { // a longer one is of no volume
		claim.Spec.VolumeName = volume
	}
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: claim.Status.Phase}
	return claim, nil
}

// claimAnnotations are those of a PVC that decisions read.
var claimAnnotations = []string{
	v1alpha1.AnnotationExclude, annotationProvisioner, annotationBetaProvisioner, corev1.BetaStorageClassAnnotation,
}

// stripSchedule leaves what a ClusterSnapshotSchedule may compare: labels and all
// annotations but the copy of the schedule that kubectl apply writes. A status that
// was never written is taken as empty, without the schema's default: the first merge
// patch of it would omit the counts that are zero, and the API server reject it.
func stripSchedule(o any) (any, error) {
	if s, ok := o.(*v1alpha1.SnapshotSchedule); ok {
		s.ManagedFields = nil
		delete(s.Annotations, corev1.LastAppliedConfigAnnotation)
		s.Status.ObservedGeneration = max(s.Status.ObservedGeneration, 0)
	}
	return o, nil
}

func only(all map[string]string, keys ...string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		if value, ok := all[key]; ok {
			if kept == nil {
				kept = make(map[string]string, len(keys))
			}
			kept[key] = value
		}
	}
	return kept
}

// stripMember reduces a member to what decisions read.
func stripMember(o any) (any, error) {
	v, ok := o.(*snapshotv1.VolumeSnapshot)
	if !ok {
		return o, nil
	}
	group := backup.GroupLabel(v)
	if _, err := stripSnapshot(v); err != nil {
		return o, err
	}
	v.Labels = map[string]string{v1alpha1.LabelGroupSnapshot: group}
	v.GenerateName = ""
	return v, nil
}

// stripGroup reduces a VolumeGroupSnapshot to what decisions read.
func stripGroup(o any) (any, error) {
	v, ok := o.(*groupv1.VolumeGroupSnapshot)
	if !ok {
		return o, nil
	}
	v.ManagedFields, v.SelfLink = nil, "" //nolint:staticcheck // see stripSnapshot
	if protected, _ := backup.Bound(v); protected {
		v.Finalizers = []string{backup.BoundFinalizer}
	} else {
		v.Finalizers = nil
	}
	v.Labels = only(v.Labels, v1alpha1.LabelMapKey, v1alpha1.LabelSchedule)
	v.GenerateName = ""
	if at := backup.SlotOf(v); at.IsZero() {
		delete(v.Annotations, v1alpha1.AnnotationScheduledAt)
	}
	record := backup.ClaimsOf(v)
	if delete(v.Annotations, v1alpha1.AnnotationClaims); len(record) > 0 && backup.IsGroupKey(v.Labels[v1alpha1.LabelMapKey]) {
		text, _ := json.Marshal(record) // without what may be between its parts
		v.Annotations[v1alpha1.AnnotationClaims] = string(text)
	}
	if _, held := backup.HeldUntil(v); held && len(v.Annotations[v1alpha1.AnnotationHold]) > len(time.RFC3339Nano) {
		v.Annotations[v1alpha1.AnnotationHold] = ""
	}
	if backup.VolumeText(v) == "" {
		delete(v.Annotations, v1alpha1.AnnotationVolume)
	}
	if backup.RhythmOf(v).IsZero() {
		delete(v.Annotations, v1alpha1.AnnotationRhythm)
	}
	v.Annotations = only(v.Annotations, v1alpha1.AnnotationScheduledAt, v1alpha1.AnnotationRhythm,
		v1alpha1.AnnotationClaims, v1alpha1.AnnotationVolume, v1alpha1.AnnotationHold)
	v.Spec.VolumeGroupSnapshotClassName = bounded(v.Spec.VolumeGroupSnapshotClassName)
	v.Spec.Source = groupv1.VolumeGroupSnapshotSource{
		Selector: backup.SelectorOf(v), VolumeGroupSnapshotContentName: bounded(v.Spec.Source.VolumeGroupSnapshotContentName),
	}
	if v.Status != nil {
		v.Status.BoundVolumeGroupSnapshotContentName = bounded(v.Status.BoundVolumeGroupSnapshotContentName)
		if e := v.Status.Error; e != nil {
			stripped := e.DeepCopy()
			stripped.Message = nil
			if text := backup.DriverError(v); text != "" {
				stripped.Message = &text
			}
			v.Status.Error = stripped
		}
	}
	return v, nil
}

// stripVolume keeps the volume of a snapshot whose labels are stripped.
func stripVolume(v *snapshotv1.VolumeSnapshot, volume string) {
	if volume == "" {
		return
	}
	if v.Labels == nil {
		v.Labels = map[string]string{}
	}
	v.Labels[v1alpha1.AnnotationVolume] = volume
}
