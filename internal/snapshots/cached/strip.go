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

// kept is an annotation that decisions read, and what the cache keeps of it: nothing of what is malformed.
type kept struct {
	key  string
	text func(client.Object) (text string, has bool)
}

// What is kept of a snapshot, whose slot and volume the cache has elsewhere, and of a group snapshot.
var (
	ofSnapshot = []kept{
		{v1alpha1.AnnotationVerifiedAt, timeBy(func(o client.Object) time.Time { return backup.Of(o).VerifiedAt })},
		{v1alpha1.AnnotationRhythm, timeBy(backup.RhythmOf)},
		{v1alpha1.AnnotationVerifyFailed, drillText},
		{v1alpha1.AnnotationHold, holdText},
	}
	ofGroup = []kept{
		{v1alpha1.AnnotationScheduledAt, timeBy(backup.SlotOf)},
		{v1alpha1.AnnotationRhythm, timeBy(backup.RhythmOf)},
		{v1alpha1.AnnotationClaims, recordText},
		{v1alpha1.AnnotationVolume, volumeText},
		{v1alpha1.AnnotationHold, holdText},
	}
)

func timeBy(read func(client.Object) time.Time) func(client.Object) (string, bool) {
	return func(o client.Object) (string, bool) {
		at := read(o)
		if at.IsZero() {
			return "", false
		}
		return at.Format(time.RFC3339Nano), true
	}
}

func drillText(o client.Object) (string, bool) {
	failed := backup.FailedDrillOf(o)
	if failed.At.IsZero() {
		return "", false
	}
	return failed.String(), true
}

// recordText keeps nothing of what may be between the parts of a record.
func recordText(o client.Object) (string, bool) {
	record := backup.ClaimsOf(o)
	text, _ := json.Marshal(record)
	return string(text), len(record) > 0 && backup.IsGroupKey(o.GetLabels()[v1alpha1.LabelMapKey])
}

func volumeText(o client.Object) (string, bool) {
	text := backup.VolumeText(o)
	return text, text != ""
}

// holdText keeps until when a hold is. Why a snapshot is held does not matter.
func holdText(o client.Object) (string, bool) {
	end, held := backup.HeldUntil(o)
	if !held || end.Equal(retention.Forever) {
		return "", held
	}
	return end.Format(time.RFC3339Nano), true
}

// onHold are the annotations of all cached snapshots that are held forever and have no
// drills. It is never changed.
var onHold = map[string]string{v1alpha1.AnnotationHold: ""}

// annotationsOf returns the annotations that decisions read.
func annotationsOf(o client.Object, table []kept) (found map[string]string) {
	for _, k := range table {
		text, has := k.text(o)
		switch {
		case !has:
			continue
		case found == nil && k.key == v1alpha1.AnnotationHold && text == "":
			return onHold
		case found == nil:
			found = make(map[string]string, 1)
		}
		found[k.key] = text
	}
	return found
}

// The transforms of caches, for what is not interned.
var (
	Snapshot = of(stripSnapshot)
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
	source.PersistentVolumeClaimName, source.VolumeSnapshotContentName =
		bounded(source.PersistentVolumeClaimName), bounded(source.VolumeSnapshotContentName)
	if v.Status != nil {
		v.Status.VolumeGroupSnapshotName = bounded(v.Status.VolumeGroupSnapshotName)
		v.Status.BoundVolumeSnapshotContentName = nil
		v.Status.RestoreSize = nil
		if e := v.Status.Error; e != nil {
			v.Status.Error = &snapshotv1.VolumeSnapshotError{Time: e.Time, Message: words(v)}
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
	if protected, _ := backup.Bound(v); protected {
		v.Finalizers = []string{backup.BoundFinalizer}
	} else {
		v.Finalizers = nil
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
			stripped := *e
			stripped.Message = words(v)
			v.Status.Error = &stripped
		}
	}
}

// stripSchedule leaves what a ClusterSnapshotSchedule may compare: labels and all
// annotations but the copy of the schedule that kubectl apply writes. A status that
// was never written is taken as empty, without the schema's default: the first merge
// patch of it would omit the counts that are zero, and the API server reject it.
func stripSchedule(s *v1alpha1.SnapshotSchedule) {
	s.ManagedFields = nil
	delete(s.Annotations, corev1.LastAppliedConfigAnnotation)
	s.Status.ObservedGeneration = max(s.Status.ObservedGeneration, 0)
}

// Class returns what strips a VolumeSnapshotClass, or a VolumeGroupSnapshotClass, but for some annotations.
func Class(annotations ...string) func(any) (any, error) {
	return func(o any) (any, error) {
		switch class := o.(type) {
		case *snapshotv1.VolumeSnapshotClass:
			class.Parameters = nil
		case *groupv1.VolumeGroupSnapshotClass:
			class.Parameters = nil
		default:
			return o, nil
		}
		class := o.(client.Object)
		class.SetManagedFields(nil)
		class.SetFinalizers(nil)
		class.SetLabels(nil)
		class.SetOwnerReferences(nil)
		class.SetAnnotations(only(class.GetAnnotations(), annotations...))
		return o, nil
	}
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
