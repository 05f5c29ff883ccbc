// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Wrong says why no snapshot, or group snapshot, can be taken of the PVCs of a driver unless a schedule names a class, and returns the
// command that fixes it; empty if one can.
func (c Classes) Wrong(name string, ofGroup bool) (why, command string) {
	claim, spec := &corev1.PersistentVolumeClaim{}, &v1alpha1.SnapshotScheduleSpec{}
	claim.Annotations = map[string]string{annotationProvisioner: name}
	if ofGroup {
		spec.Group = &v1alpha1.Group{}
	}
	_, _, p := c.choose(wantedOf(spec, []*corev1.PersistentVolumeClaim{claim}))
	if at := strings.LastIndex(p.Message, ": kubectl "); at >= 0 { // the names in it, of drivers and classes, have no space
		return p.Message[:at], p.Message[at+len(": "):]
	}
	return p.Message, ""
}

// Used returns the class by which a schedule takes the snapshots, or the group snapshots, of PVCs of a driver; nil if by none.
func (c Classes) Used(spec *v1alpha1.SnapshotScheduleSpec, of string) client.Object {
	claim := &corev1.PersistentVolumeClaim{}
	claim.Annotations = map[string]string{annotationProvisioner: of}
	switch class, _, refused := c.choose(wantedOf(spec, []*corev1.PersistentVolumeClaim{claim})); {
	case refused.Reason != "":
		return nil
	case class == nil:
		return c.DefaultOf(of, spec.Group != nil)
	default:
		found, _ := c.find(spec.Group != nil, *class)
		return found
	}
}

// Drivers returns the drivers of all classes.
func (c Classes) Drivers() (all []string) {
	for _, o := range c.All {
		if of, isClass := driverOfClass(o); isClass {
			all = append(all, string(of))
		}
	}
	return all
}

// Of returns the classes of a driver, of snapshots or of group snapshots.
func (c Classes) Of(name string, ofGroup bool) (all []client.Object) {
	for o, of := range c.each(ofGroup) {
		if string(of) == name {
			all = append(all, o)
		}
	}
	return all
}

// Stated returns which annotations about the storage of a driver count. Of those that are ignored it says why of one, and returns the
// command that removes it.
func (c Classes) Stated(name string) (stated []string, ignored, command string) {
	of := c.capacityOf(driver(name))
	for i, is := range []bool{of.inFlight > 0, of.pending > 0, of.perVolume > 0, of.spacing > 0} {
		if is {
			stated = append(stated, capacityAnnotations[i])
		}
	}
	return stated, of.invalid, of.remove
}

// DefaultOf returns the default class of a driver for snapshots, or for group snapshots; nil unless it has exactly one.
func (c Classes) DefaultOf(of string, group bool) (found client.Object) {
	kind := map[bool]*kindOfClass{false: &singleClasses, true: &groupClasses}[group]
	for class, d := range c.each(group) {
		if string(d) != of || class.GetAnnotations()[kind.annotation] != "true" {
			continue
		}
		if found != nil {
			return nil
		}
		found = class
	}
	return found
}

// Pending returns how many snapshots of a driver may be in progress, as its classes say; zero: any number.
func (c Classes) Pending(of string) int { return c.capacityOf(driver(of)).pending }

// Undecided returns whether SkipReason could say more of a PVC if the classes were known.
func (c Classes) Undecided(claim *corev1.PersistentVolumeClaim) bool {
	return !c.Known && driverOf(claim) != "" && c.SkipReason(claim) == ""
}
