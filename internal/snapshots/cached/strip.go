// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"encoding/json"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// maxName is how long the name of an object can be. The schema of VolumeSnapshots bounds none of the names in them.
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

// kept is an annotation that decisions read, and what the cache keeps of it: nothing of what is malformed.
type kept struct {
	key  string
	text func(client.Object) string
}

// What is kept of a snapshot, whose slot and volume the cache has elsewhere, and of a group snapshot, beside their holds.
var (
	ofSnapshot = []kept{
		{v1alpha1.AnnotationVerifiedAt, timeBy(func(o client.Object) time.Time { return backup.Of(o).VerifiedAt })},
		{v1alpha1.AnnotationRhythm, timeBy(backup.RhythmOf)},
		{v1alpha1.AnnotationVerifyFailed, drillText},
	}
	ofGroup = []kept{
		{v1alpha1.AnnotationScheduledAt, timeBy(backup.SlotOf)},
		{v1alpha1.AnnotationRhythm, timeBy(backup.RhythmOf)},
		{v1alpha1.AnnotationClaims, recordText},
		{v1alpha1.AnnotationVolume, backup.VolumeText},
	}
)

func timeBy(read func(client.Object) time.Time) func(client.Object) string {
	return func(o client.Object) string {
		if at := read(o); !at.IsZero() {
			return at.Format(time.RFC3339Nano)
		}
		return ""
	}
}

func drillText(o client.Object) string {
	if failed := backup.FailedDrillOf(o); !failed.At.IsZero() {
		return failed.String()
	}
	return ""
}

// recordText keeps nothing of what may be between the parts of a record.
func recordText(o client.Object) string {
	record := backup.ClaimsOf(o)
	if len(record) == 0 || !backup.IsGroupKey(o.GetLabels()[v1alpha1.LabelMapKey]) {
		return ""
	}
	text, _ := json.Marshal(record)
	return string(text)
}

// onHold are the annotations of all cached snapshots that are held forever and have no drills. It is never changed.
var onHold = map[string]string{v1alpha1.AnnotationHold: ""}

// annotationsOf returns the annotations that decisions read. Of a hold, that is until when it is: why does not matter.
func annotationsOf(o client.Object, table []kept) (found map[string]string) {
	keep := func(key, text string) {
		if found == nil {
			found = make(map[string]string, 1)
		}
		found[key] = text
	}
	for _, k := range table {
		if text := k.text(o); text != "" {
			keep(k.key, text)
		}
	}
	switch end, held := backup.HeldUntil(o); {
	case held && !end.Equal(retention.Forever):
		keep(v1alpha1.AnnotationHold, end.Format(time.RFC3339Nano))
	case held && found == nil:
		return onHold
	case held:
		keep(v1alpha1.AnnotationHold, "")
	}
	return found
}

// The transforms of the caches of members, group snapshots and schedules.
var (
	Member   = of(stripMember)
	Group    = of(stripGroup)
	Schedule = of(stripSchedule)
)

// of returns a transform that strips the objects of a type in place.
func of[T client.Object](strip func(T)) func(any) (any, error) {
	return func(o any) (any, error) {
		if v, is := o.(T); is {
			strip(v)
		}
		return o, nil
	}
}

func stripSnapshot(v *snapshotv1.VolumeSnapshot) {
	v.ManagedFields, v.Finalizers = nil, nil
	v.SelfLink = "" //nolint:staticcheck // nobody fills it any more, but a user may write any text into it
	volume := backup.VolumeText(v)
	if v.Labels = only(v.Labels, v1alpha1.LabelMapKey, v1alpha1.LabelSchedule); volume != "" {
		if v.Labels == nil {
			v.Labels = map[string]string{}
		}
		v.Labels[v1alpha1.AnnotationVolume] = volume
	}
	v.GenerateName = backup.SlotText(v)
	v.Annotations = annotationsOf(v, ofSnapshot)
	// The class of an uncut one tells whose limit it counts towards, and that of a deleted one whether its data stays, if
	// there can be one of its name.
	if class := v.Spec.VolumeSnapshotClassName; class != nil && len(*class) > maxName {
		v.Spec.VolumeSnapshotClassName = nil
	}
	source := &v.Spec.Source
	source.PersistentVolumeClaimName = bounded(source.PersistentVolumeClaimName)
	source.VolumeSnapshotContentName = bounded(source.VolumeSnapshotContentName)
	if v.Status != nil {
		v.Status.VolumeGroupSnapshotName = bounded(v.Status.VolumeGroupSnapshotName)
		v.Status.BoundVolumeSnapshotContentName, v.Status.RestoreSize = nil, nil
		if e := v.Status.Error; e != nil {
			e.Message = words(v)
		}
	}
}

// words returns what the driver says about a snapshot; nil if it says nothing.
func words(v client.Object) *string {
	if text := backup.DriverError(v); text != "" {
		return &text
	}
	return nil
}

func stripMember(v *snapshotv1.VolumeSnapshot) {
	group := backup.GroupLabel(v)
	stripSnapshot(v)
	v.Labels, v.GenerateName = map[string]string{v1alpha1.LabelGroupSnapshot: group}, ""
}

func stripGroup(v *groupv1.VolumeGroupSnapshot) {
	v.ManagedFields, v.SelfLink = nil, "" //nolint:staticcheck // see stripSnapshot
	protected, _ := backup.Bound(v)
	if v.Finalizers = nil; protected {
		v.Finalizers = []string{backup.BoundFinalizer}
	}
	v.Labels = only(v.Labels, v1alpha1.LabelMapKey, v1alpha1.LabelSchedule)
	v.GenerateName = ""
	v.Annotations = annotationsOf(v, ofGroup)
	v.Spec.VolumeGroupSnapshotClassName = bounded(v.Spec.VolumeGroupSnapshotClassName)
	v.Spec.Source = groupv1.VolumeGroupSnapshotSource{
		Selector: backup.SelectorOf(v), VolumeGroupSnapshotContentName: bounded(v.Spec.Source.VolumeGroupSnapshotContentName),
	}
	if v.Status != nil {
		v.Status.BoundVolumeGroupSnapshotContentName = bounded(v.Status.BoundVolumeGroupSnapshotContentName)
		if e := v.Status.Error; e != nil {
			e.Message = words(v)
		}
	}
}

// stripSchedule leaves what a ClusterSnapshotSchedule may compare: labels and all annotations but the copy of the schedule that kubectl
// apply writes. A status that was never written is taken as empty, without the schema's default: the first merge patch of it would
// omit the counts that are zero, and the API server reject it.
func stripSchedule(s *v1alpha1.SnapshotSchedule) {
	s.ManagedFields = nil
	delete(s.Annotations, corev1.LastAppliedConfigAnnotation)
	s.Status.ObservedGeneration = max(s.Status.ObservedGeneration, 0)
}

// Class returns what strips a VolumeSnapshotClass, or a VolumeGroupSnapshotClass, but for some annotations.
func Class(annotations ...string) func(any) (any, error) {
	return of(func(class client.Object) {
		switch c := class.(type) {
		case *snapshotv1.VolumeSnapshotClass:
			c.Parameters = nil
		case *groupv1.VolumeGroupSnapshotClass:
			c.Parameters = nil
		default:
			return
		}
		class.SetManagedFields(nil)
		class.SetFinalizers(nil)
		class.SetLabels(nil)
		class.SetOwnerReferences(nil)
		class.SetAnnotations(only(class.GetAnnotations(), annotations...))
	})
}

// stripClaim strips a PVC, but for some annotations, and for those of its driver if they can be that.
func stripClaim(claim *corev1.PersistentVolumeClaim, drivers [2]string, isDriver func(string) bool, annotations []string) {
	claim.ManagedFields, claim.Finalizers = nil, nil
	claim.Annotations = only(claim.Annotations, append(drivers[:], annotations...)...)
	for _, key := range drivers {
		if !isDriver(claim.Annotations[key]) { // it may be long, and means nothing
			delete(claim.Annotations, key)
		}
	}
	if len(claim.Annotations) == 0 {
		claim.Annotations = nil
	}
	spec := claim.Spec
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		DataSource: spec.DataSource, DataSourceRef: spec.DataSourceRef, StorageClassName: spec.StorageClassName,
	}
	if len(spec.VolumeName) <= maxName { // a longer one is of no volume
		claim.Spec.VolumeName = spec.VolumeName
	}
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: claim.Status.Phase}
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
