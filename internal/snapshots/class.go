// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// The annotations of a driver's default class, and of its default class of group snapshots.
const (
	annotationDefaultClass      = "snapshot.storage.kubernetes.io/is-default-class"
	annotationDefaultGroupClass = "groupsnapshot.storage.kubernetes.io/is-default-class"
)

// Classes are the VolumeSnapshotClasses of the cluster.
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

// notSnapshottable returns why no snapshot of a PVC can be taken with any class;
// empty if one may be.
func (c Classes) notSnapshottable(claim *corev1.PersistentVolumeClaim) string {
	switch d := driverOf(claim); {
	case d.inTree():
		return fmt.Sprintf("%s is an in-tree plugin, whose volumes cannot be snapshotted", d)
	case d != "" && c.Known && c.count(d) == 0:
		return fmt.Sprintf("no VolumeSnapshotClass belongs to driver %s", d)
	}
	return ""
}

// unfit is notSnapshottable as a reason to skip a PVC.
func (c Classes) unfit(claim *corev1.PersistentVolumeClaim) string {
	if why := c.notSnapshottable(claim); why != "" {
		return Problem{Reason: v1alpha1.ReasonNotSnapshottable, Message: why}.String()
	}
	return ""
}

// Choose returns the class for a PVC's snapshots; nil leaves the choice to the
// driver's default. A problem says why no snapshot can be taken.
func (c Classes) Choose(claim *corev1.PersistentVolumeClaim, template *v1alpha1.SnapshotTemplateSpec) (class *string, p Problem) {
	d := driverOf(claim)
	if missing := c.missing(template); missing != "" && d != "" {
		return nil, Problem{Reason: v1alpha1.ReasonWrongSnapshotClass, Message: missing}
	}
	if why := c.notSnapshottable(claim); why != "" {
		return nil, Problem{Reason: v1alpha1.ReasonNotSnapshottable, Message: why}
	}
	if name := template.VolumeSnapshotClassName; name != nil {
		return name, c.named(*name, d)
	}
	if len(template.VolumeSnapshotClassNames) > 0 {
		if !c.Known || d == "" {
			return nil, Problem{Reason: v1alpha1.ReasonWrongSnapshotClass, Message: c.unknownDriver()}
		}
		for _, listed := range template.VolumeSnapshotClassNames {
			if found := c.find(string(listed)); found != nil && driver(found.Driver) == d {
				return &found.Name, Problem{}
			}
		}
	}
	return nil, c.defaulted(d)
}

// missing says that no class exists that the template names; empty if it names none.
func (c Classes) missing(template *v1alpha1.SnapshotTemplateSpec) string {
	if name := template.VolumeSnapshotClassName; c.Known && name != nil && c.find(*name) == nil {
		return fmt.Sprintf("VolumeSnapshotClass %s does not exist%s", *name, c.others(""))
	}
	var names []string
	for _, listed := range template.VolumeSnapshotClassNames {
		names = append(names, string(listed))
	}
	if !c.Known || len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return c.find(name) != nil }) {
		return ""
	}
	return "none of volumeSnapshotClassNames exists: " + report.List(names, maxNames) + c.others("")
}

// others names the classes that exist, of a driver or of any, and says what to do.
func (c Classes) others(d driver) string {
	var names []string
	for _, o := range c.All {
		if class := classOf(o); class != nil && (d == "" || driver(class.Driver) == d) {
			names = append(names, class.Name)
		}
	}
	if slices.Sort(names); len(names) == 0 {
		return "; there is none in this cluster: create one, or leave the PVC out"
	}
	return "; in the schedule, name one that exists: " + report.List(names, maxNames)
}

// maxNames is how many bytes of names a message lists.
const maxNames = 200

// named returns what is wrong with a class that the template names and that exists, if classes are known.
func (c Classes) named(name string, d driver) Problem {
	found := c.find(name)
	if found == nil || d == "" || driver(found.Driver) == d {
		return Problem{}
	}
	return Problem{Reason: v1alpha1.ReasonWrongSnapshotClass, Message: fmt.Sprintf(
		"VolumeSnapshotClass %s belongs to driver %s, and the PVC to driver %s%s", name, found.Driver, d, c.others(d))}
}

func (c Classes) unknownDriver() string {
	if !c.Known {
		return "the operator may not read VolumeSnapshotClasses, so it cannot choose one of volumeSnapshotClassNames; " +
			"set volumeSnapshotClassName instead"
	}
	return "the driver of the PVC is unknown, so none of volumeSnapshotClassNames can be chosen; " +
		"set volumeSnapshotClassName, or annotation " + annotationProvisioner + " of the PVC"
}

// defaulted returns what is wrong with the default class of a driver.
func (c Classes) defaulted(d driver) Problem {
	if !c.Known || d == "" {
		return Problem{}
	}
	isDefault := func(class *snapshotv1.VolumeSnapshotClass) bool {
		return class.Annotations[annotationDefaultClass] == "true"
	}
	n := 0
	for _, o := range c.All {
		if class := classOf(o); class != nil && driver(class.Driver) == d && isDefault(class) {
			n++
		}
	}
	if n == 1 { // as always, and each pass over a key asks
		return Problem{}
	}
	var all, defaults []string
	for _, o := range c.All {
		class := classOf(o)
		if class == nil || driver(class.Driver) != d {
			continue
		}
		if all = append(all, class.Name); isDefault(class) {
			defaults = append(defaults, class.Name)
		}
	}
	message := notOneDefault(d, "volumesnapshotclass", annotationDefaultClass, all, defaults)
	return Problem{Reason: v1alpha1.ReasonNoDefaultSnapshotClass, Message: message}
}

// notOneDefault says that a driver has not exactly one default class, and what to do. The API server validates the names of classes.
func notOneDefault(d driver, resource, annotation string, all, defaults []string) string {
	slices.Sort(all)
	slices.Sort(defaults)
	annotate := "kubectl annotate " + resource
	switch {
	case len(all) == 1:
		return fmt.Sprintf("the only class of %s, %s, is not its default: %s '%s' %s=true", d, all[0], annotate, all[0], annotation)
	case len(defaults) > 1:
		return fmt.Sprintf("%d classes of %s are its default: %s; name one in the schedule, or leave one the default: %s '%s' %s-",
			len(defaults), d, report.List(defaults, maxNames), annotate, defaults[1], annotation)
	}
	return fmt.Sprintf("none of the %d classes of %s is its default: %s; name one in the schedule, or make one the default: %s '%s' %s=true",
		len(all), d, report.List(all, maxNames), annotate, all[0], annotation)
}

// count returns how many classes a driver has.
func (c Classes) count(d driver) int {
	n := 0
	for _, o := range c.All {
		if class := classOf(o); class != nil && driver(class.Driver) == d {
			n++
		}
	}
	return n
}

func (c Classes) find(name string) *snapshotv1.VolumeSnapshotClass {
	for _, o := range c.All {
		if class := classOf(o); class != nil && class.Name == name {
			return class
		}
	}
	return nil
}

func classOf(o client.Object) *snapshotv1.VolumeSnapshotClass {
	class, _ := o.(*snapshotv1.VolumeSnapshotClass)
	return class
}

// capacityAnnotations say what the storage of a driver can take.
var capacityAnnotations = []string{
	v1alpha1.AnnotationMaxInFlight, v1alpha1.AnnotationMaxPending, v1alpha1.AnnotationMaxPerVolume, v1alpha1.AnnotationMinSpacing,
}

// classAnnotations are those that decisions read.
var classAnnotations = append([]string{annotationDefaultClass}, capacityAnnotations...)

// stripClass reduces a VolumeSnapshotClass to what decisions read.
func stripClass(o any) (any, error) {
	class, ok := o.(*snapshotv1.VolumeSnapshotClass)
	if !ok {
		return o, nil
	}
	class.ManagedFields, class.Finalizers, class.Labels, class.OwnerReferences = nil, nil, nil, nil
	class.Annotations = only(class.Annotations, classAnnotations...)
	class.Parameters = nil
	return class, nil
}

// classChanged returns whether an update of a VolumeSnapshotClass may change a
// decision.
func classChanged(before, after client.Object) bool {
	b, a := classOf(before), classOf(after)
	return b.Driver != a.Driver || b.DeletionPolicy != a.DeletionPolicy ||
		slices.ContainsFunc(classAnnotations, func(key string) bool { return b.Annotations[key] != a.Annotations[key] })
}

// retains returns whether the data of a snapshot of a class, or of a group snapshot, stays in the storage when it is
// deleted, as the class is now. No class stands for the driver's default.
func (c Classes) retains(ofGroup bool, name *string, d driver) bool {
	return slices.ContainsFunc(c.All, func(o client.Object) bool {
		of, policy, annotation := driver(""), snapshotv1.DeletionPolicy(""), annotationDefaultClass
		switch class := o.(type) {
		case *snapshotv1.VolumeSnapshotClass:
			if ofGroup {
				return false
			}
			of, policy = driver(class.Driver), class.DeletionPolicy
		case *groupv1.VolumeGroupSnapshotClass:
			if !ofGroup {
				return false
			}
			of, policy, annotation = driver(class.Driver), snapshotv1.DeletionPolicy(class.DeletionPolicy), annotationDefaultGroupClass
		}
		if policy != snapshotv1.VolumeSnapshotContentRetain {
			return false
		}
		return name != nil && o.GetName() == *name || name == nil && of == d && o.GetAnnotations()[annotation] == "true"
	})
}

// limitedBy returns the driver whose limit a PVC's snapshot of a class counts towards.
// Unless the template names classes, that is the PVC's: the class that the snapshot
// controller fills in later must not change it. Only drivers of classes have a limit of
// their own, so that nobody can make one up; where classes cannot be read, the name of
// the class stands for the driver.
func (c Classes) limitedBy(claim *corev1.PersistentVolumeClaim, template *v1alpha1.SnapshotTemplateSpec, class *string) driver {
	named := class != nil && (template.VolumeSnapshotClassName != nil || len(template.VolumeSnapshotClassNames) > 0)
	if !c.Known {
		if named {
			return driver(*class)
		}
		return ""
	}
	if named {
		if found := c.find(*class); found != nil {
			return driverNamed(found.Driver)
		}
	}
	if d := driverOf(claim); c.count(d) > 0 {
		return d
	}
	return ""
}
