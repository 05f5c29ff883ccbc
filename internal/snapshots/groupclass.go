// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"slices"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// forGroup returns the class for the snapshots of a group, nil for the driver's default, and the
// driver whose limits they count towards. A problem says why none can be taken.
func (c Classes) forGroup(claims []*corev1.PersistentVolumeClaim, named *string) (class *string, limit driver, refused Problem) {
	d, refused := driverOfGroup(claims)
	switch {
	case refused.Reason != "":
		return nil, "", refused
	case !c.Known:
		return named, driver(ptr.Deref(named, "")), Problem{}
	}
	ofDriver := c.groupClasses(func(class *groupv1.VolumeGroupSnapshotClass) bool { return d != "" && driver(class.Driver) == d })
	if len(ofDriver) > 0 || c.count(d) > 0 {
		limit = d
	}
	if c.GroupsUnknown {
		return named, limit, Problem{}
	}
	if named == nil {
		return nil, limit, defaultOf(d, ofDriver)
	}
	found := c.groupClasses(func(class *groupv1.VolumeGroupSnapshotClass) bool { return class.Name == *named })
	switch {
	case len(found) == 0 && d != "":
		refused = Problem{Reason: v1alpha1.ReasonNoGroupSnapshotClass, Message: fmt.Sprintf(
			"VolumeGroupSnapshotClass %s does not exist: create it, or name another one in spec.group", *named)}
	case len(found) > 0 && d != "" && driver(found[0].Driver) != d:
		refused = Problem{Reason: v1alpha1.ReasonNoGroupSnapshotClass, Message: fmt.Sprintf(
			"VolumeGroupSnapshotClass %s belongs to driver %s, and the group to driver %s", *named, found[0].Driver, d)}
	case len(found) > 0:
		limit = driverNamed(found[0].Driver)
	}
	return named, limit, refused
}

// notGroupable returns why a PVC can be in no group snapshot, whatever the class; empty if it may be. A class that is named and does not
// exist is a problem of its own.
func (c Classes) notGroupable(claim *corev1.PersistentVolumeClaim, named *string) string {
	known := c.Known && !c.GroupsUnknown
	exists := func(class *groupv1.VolumeGroupSnapshotClass) bool { return named == nil || class.Name == *named }
	if known && named != nil && len(c.groupClasses(exists)) == 0 {
		return ""
	}
	d := driverOf(claim)
	ofDriver := func(class *groupv1.VolumeGroupSnapshotClass) bool { return driver(class.Driver) == d }
	if !d.inTree() && (!known || len(c.groupClasses(ofDriver)) > 0) { // a class of group snapshots is enough
		return ""
	}
	return c.unfit(claim)
}

// driverOfGroup returns the driver of the PVCs of a group, empty if it is unknown.
func driverOfGroup(claims []*corev1.PersistentVolumeClaim) (d driver, refused Problem) {
	for _, claim := range claims {
		switch other := driverOf(claim); {
		case other.inTree():
			return "", Problem{Reason: v1alpha1.ReasonNoGroupSnapshotClass,
				Message: fmt.Sprintf("PVC %s belongs to %s, an in-tree plugin, whose volumes cannot be snapshotted", claim.Name, other)}
		case other == "" || other == d:
		case d == "":
			d = other
		default:
			return "", Problem{Reason: v1alpha1.ReasonMixedDrivers,
				Message: fmt.Sprintf(
					"the PVCs of the group belong to several drivers, such as %s and %s: divide them by a label, with spec.group.byLabel", d, other)}
		}
	}
	return d, Problem{}
}

// defaultOf returns why the snapshot controller finds no default class of a driver.
func defaultOf(d driver, ofDriver []*groupv1.VolumeGroupSnapshotClass) Problem {
	var all, defaults []string
	for _, class := range ofDriver {
		all = append(all, class.Name)
		if class.Annotations[annotationDefaultGroupClass] == "true" {
			defaults = append(defaults, class.Name)
		}
	}
	switch {
	case d == "" || len(defaults) == 1:
		return Problem{}
	case len(ofDriver) == 0:
		return Problem{Reason: v1alpha1.ReasonNoGroupSnapshotClass, Message: fmt.Sprintf(
			"no VolumeGroupSnapshotClass belongs to driver %s: create one, or remove spec.group", d)}
	}
	return Problem{Reason: v1alpha1.ReasonNoDefaultGroupSnapshotClass,
		Message: notOneDefault(d, "volumegroupsnapshotclass", annotationDefaultGroupClass, all, defaults)}
}

// groupClasses returns some of the VolumeGroupSnapshotClasses.
func (c Classes) groupClasses(which func(*groupv1.VolumeGroupSnapshotClass) bool) (found []*groupv1.VolumeGroupSnapshotClass) {
	for _, o := range c.All {
		if class, ok := o.(*groupv1.VolumeGroupSnapshotClass); ok && which(class) {
			found = append(found, class)
		}
	}
	return found
}

// stripGroupClass reduces a VolumeGroupSnapshotClass to what decisions read.
func stripGroupClass(o any) (any, error) {
	class, ok := o.(*groupv1.VolumeGroupSnapshotClass)
	if !ok {
		return o, nil
	}
	class.ManagedFields, class.Finalizers, class.Labels, class.OwnerReferences = nil, nil, nil, nil
	class.Annotations = only(class.Annotations, append([]string{annotationDefaultGroupClass}, capacityAnnotations...)...)
	class.Parameters = nil
	return class, nil
}

// groupClassChanged returns whether an update of a VolumeGroupSnapshotClass may change a
// decision.
func groupClassChanged(before, after client.Object) bool {
	b, a := before.(*groupv1.VolumeGroupSnapshotClass), after.(*groupv1.VolumeGroupSnapshotClass)
	return b.Driver != a.Driver || b.DeletionPolicy != a.DeletionPolicy ||
		b.Annotations[annotationDefaultGroupClass] != a.Annotations[annotationDefaultGroupClass] ||
		slices.ContainsFunc(capacityAnnotations, func(key string) bool { return b.Annotations[key] != a.Annotations[key] })
}
