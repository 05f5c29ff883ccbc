// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"iter"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// The annotations of a driver's default class, and of its default class of group snapshots.
const (
	annotationDefaultClass      = "snapshot.storage.kubernetes.io/is-default-class"
	annotationDefaultGroupClass = "groupsnapshot.storage.kubernetes.io/is-default-class"
)

// Classes are the VolumeSnapshotClasses and VolumeGroupSnapshotClasses of the cluster.
type Classes struct {
	// Known is set if they were read. Without permission for that, every driver counts as
	// unknown, and a snapshot is created as if it had the right class.
	Known bool
	// GroupsUnknown is set if VolumeGroupSnapshotClasses were not read, although the others were: without permission
	// for these alone.
	GroupsUnknown bool
	// All may contain objects of other kinds, which are ignored.
	All []client.Object
}

// knows returns whether the classes of snapshots, or of group snapshots, were read.
func (c Classes) knows(ofGroup bool) bool { return c.Known && (!ofGroup || !c.GroupsUnknown) }

// each yields the classes of snapshots, or of group snapshots, with their drivers.
func (c Classes) each(ofGroup bool) iter.Seq2[client.Object, driver] {
	return func(yield func(client.Object, driver) bool) {
		for _, o := range c.All {
			of, isClass := driverOfClass(o)
			if _, group := o.(*groupv1.VolumeGroupSnapshotClass); isClass && group == ofGroup && !yield(o, of) {
				return
			}
		}
	}
}

// driverOfClass returns the driver of a VolumeSnapshotClass, or of a VolumeGroupSnapshotClass.
func driverOfClass(o client.Object) (d driver, isClass bool) {
	switch class := o.(type) {
	case *snapshotv1.VolumeSnapshotClass:
		return driver(class.Driver), true
	case *groupv1.VolumeGroupSnapshotClass:
		return driver(class.Driver), true
	}
	return "", false
}

// find returns a class by its name; nil if there is none.
func (c Classes) find(ofGroup bool, name string) (client.Object, driver) {
	for o, of := range c.each(ofGroup) {
		if o.GetName() == name {
			return o, of
		}
	}
	return nil, ""
}

// has returns whether a driver has a class of snapshots, or of group snapshots.
func (c Classes) has(ofGroup bool, d driver) bool {
	for _, of := range c.each(ofGroup) {
		if of == d {
			return true
		}
	}
	return false
}

// Leaves returns whether a class leaves the data of deleted snapshots in the storage.
func Leaves(o client.Object) bool {
	switch class := o.(type) {
	case *snapshotv1.VolumeSnapshotClass:
		return class.DeletionPolicy == snapshotv1.VolumeSnapshotContentRetain
	case *groupv1.VolumeGroupSnapshotClass:
		return string(class.DeletionPolicy) == string(snapshotv1.VolumeSnapshotContentRetain)
	}
	return false
}

// capacityAnnotations say what the storage of a driver can take.
var capacityAnnotations = []string{
	v1alpha1.AnnotationMaxInFlight, v1alpha1.AnnotationMaxPending, v1alpha1.AnnotationMaxPerVolume, v1alpha1.AnnotationMinSpacing,
}

// classAnnotations are those that decisions read.
var classAnnotations = append([]string{annotationDefaultClass, annotationDefaultGroupClass}, capacityAnnotations...)

// classChanged returns whether an update of a class may change a decision.
func classChanged(before, after client.Object) bool {
	was, _ := driverOfClass(before)
	is, _ := driverOfClass(after)
	return was != is || Leaves(before) != Leaves(after) || slices.ContainsFunc(classAnnotations, func(key string) bool {
		return before.GetAnnotations()[key] != after.GetAnnotations()[key]
	})
}
