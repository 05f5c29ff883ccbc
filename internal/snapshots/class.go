// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"fmt"
	"slices"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// kindOfClass is what differs between the classes of snapshots and those of group snapshots.
type kindOfClass struct {
	ofGroup        bool
	name, resource string
	annotation     string // of a default class
	whose          string // snapshots are taken by it
	// wrong and notOne are the reasons for a class that does not fit, and for a driver without exactly one default class.
	wrong, notOne string
	// without is what to do where a driver has no class, other than to create one; none says so, where that is known of no PVC.
	without, none string
	driverOf      func([]*corev1.PersistentVolumeClaim) (driver, Problem)
	// refusals are asked in this order. The first of them, unnamed, refuse whatever class is named.
	refusals []refusal
	unnamed  int
}

// refusal returns why no snapshot can be taken that is wanted of PVCs of a driver.
type refusal func(Classes, wanted, driver) Problem

var (
	singleClasses = kindOfClass{
		name: "VolumeSnapshotClass", resource: "volumesnapshotclass", annotation: annotationDefaultClass, whose: "PVC",
		wrong: v1alpha1.ReasonWrongSnapshotClass, notOne: v1alpha1.ReasonNoDefaultSnapshotClass,
		without:  "leave the PVC out, with annotation " + v1alpha1.AnnotationExclude,
		driverOf: driverOfFirst,
		refusals: []refusal{Classes.missing, Classes.unsuited, Classes.ofOthers, Classes.unlisted, Classes.noDefault},
		unnamed:  2,
	}
	groupClasses = kindOfClass{
		ofGroup: true,
		name:    "VolumeGroupSnapshotClass", resource: "volumegroupsnapshotclass", annotation: annotationDefaultGroupClass, whose: "group",
		wrong: v1alpha1.ReasonNoGroupSnapshotClass, notOne: v1alpha1.ReasonNoDefaultGroupSnapshotClass,
		without: "remove spec.group, which keeps only minReady of its group snapshots", none: ": create one",
		driverOf: driverOfGroup,
		refusals: []refusal{Classes.missing, Classes.ofOthers, Classes.noDefault},
	}
)

// wanted is what a spec says of the class for snapshots of PVCs.
type wanted struct {
	kind   *kindOfClass
	claims []*corev1.PersistentVolumeClaim
	// name is that of a class; listed are those of which the first is chosen that fits.
	name   *string
	listed []string
}

// wantedOf returns what a spec says of the class for PVCs.
func wantedOf(spec *v1alpha1.SnapshotScheduleSpec, claims []*corev1.PersistentVolumeClaim) wanted {
	if spec.Group != nil {
		return wanted{kind: &groupClasses, claims: claims, name: spec.Group.VolumeGroupSnapshotClassName}
	}
	return wantedBy(&spec.SnapshotTemplate.Spec, claims)
}

func wantedBy(template *v1alpha1.SnapshotTemplateSpec, claims []*corev1.PersistentVolumeClaim) wanted {
	w := wanted{kind: &singleClasses, claims: claims, name: template.VolumeSnapshotClassName}
	for _, listed := range template.VolumeSnapshotClassNames {
		w.listed = append(w.listed, string(listed))
	}
	return w
}

// Choose returns the class for a PVC's snapshots; nil leaves the choice to the
// driver's default. A problem says why no snapshot can be taken.
func (c Classes) Choose(claim *corev1.PersistentVolumeClaim, template *v1alpha1.SnapshotTemplateSpec) (class *string, p Problem) {
	class, _, p = c.choose(wantedBy(template, []*corev1.PersistentVolumeClaim{claim}))
	return class, p
}

// choose returns the class for snapshots, nil for the driver's default, and the driver whose limits they count towards.
// A problem says why none can be taken.
func (c Classes) choose(w wanted) (class *string, limit driver, refused Problem) {
	d, refused := w.kind.driverOf(w.claims)
	if refused.Reason != "" {
		return nil, "", refused
	}
	class = c.pick(w, d)
	for i, refuses := range w.kind.refusals {
		if refused = refuses(c, w, d); refused.Reason != "" {
			if i < w.kind.unnamed {
				class = nil
			}
			break
		}
	}
	return class, c.limitedBy(w, d, class), refused
}

// pick returns the class that is named, or the first one listed that is of a driver; nil if there is none.
func (c Classes) pick(w wanted, d driver) *string {
	if w.name != nil || !c.Known || d == "" {
		return w.name
	}
	for i, name := range w.listed {
		if _, of := c.find(w.kind.ofGroup, name); of == d {
			return &w.listed[i]
		}
	}
	return nil
}

// driverIn returns the driver of the class in a snapshot, or a group snapshot; empty if it has none that exists.
func (c Classes) driverIn(o client.Object) driver {
	name := backup.ClassOf(o)
	if name == nil {
		return ""
	}
	_, of := c.find(kindFor(o).ofGroup, *name)
	return driverNamed(string(of))
}

// kindFor returns the kind of the class in a snapshot, or a group snapshot.
func kindFor(o client.Object) *kindOfClass {
	if _, isGroup := o.(*groupv1.VolumeGroupSnapshot); isGroup {
		return &groupClasses
	}
	return &singleClasses
}

// notSnapshottable returns why no snapshot of a PVC can be taken with any class, as a reason to skip it; empty if one may be.
func (c Classes) notSnapshottable(claim *corev1.PersistentVolumeClaim) SkipReason {
	if p := c.unsuited(wanted{kind: &singleClasses}, driverOf(claim)); p.Reason != "" {
		return SkipReason(p.String())
	}
	return ""
}

// SkipReason returns why a PVC cannot be snapshotted by any schedule now; empty
// if it can.
func (c Classes) SkipReason(claim *corev1.PersistentVolumeClaim) SkipReason {
	return cmp.Or(skip(claim), c.notSnapshottable(claim))
}

// unfit returns why no snapshot that is wanted can be taken of a PVC, whatever the class; empty if one may be. A class that is
// named and does not exist is a problem of its own, and one class of the kind that is wanted is enough.
func (c Classes) unfit(w wanted, claim *corev1.PersistentVolumeClaim) SkipReason {
	if d := driverOf(claim); c.missing(w, d).Reason != "" || c.unsuited(w, d).Reason == "" {
		return ""
	}
	return c.notSnapshottable(claim)
}

// unsuited refuses a driver whose volumes cannot be snapshotted.
func (c Classes) unsuited(w wanted, d driver) Problem {
	p := Problem{Reason: v1alpha1.ReasonNotSnapshottable}
	switch {
	case d.inTree():
		p.Message = fmt.Sprintf("%s is an in-tree plugin, whose volumes cannot be snapshotted", d)
	case d != "" && c.knows(w.kind.ofGroup) && !c.has(w.kind.ofGroup, d):
		p.Message = fmt.Sprintf("no %s belongs to driver %s%s", w.kind.name, d, w.kind.none)
	default:
		return Problem{}
	}
	return p
}

// missing refuses if no class exists that is named.
func (c Classes) missing(w wanted, d driver) Problem {
	if d == "" || !c.knows(w.kind.ofGroup) {
		return Problem{}
	}
	exists := func(name string) bool { o, _ := c.find(w.kind.ofGroup, name); return o != nil }
	if w.name != nil && !exists(*w.name) {
		return Problem{Reason: w.kind.wrong, Message: fmt.Sprintf(
			"%s %s does not exist; %s", w.kind.name, *w.name, c.others(w.kind, d))}
	}
	if len(w.listed) == 0 || slices.ContainsFunc(w.listed, exists) {
		return Problem{}
	}
	return Problem{Reason: w.kind.wrong, Message: "none of volumeSnapshotClassNames exists: " +
		report.List(w.listed, maxNames) + "; " + c.others(w.kind, d)}
}

// others names the classes of a driver that exist, and says what to do.
func (c Classes) others(kind *kindOfClass, d driver) string {
	var names []string
	for o, of := range c.each(kind.ofGroup) {
		if of == d {
			names = append(names, o.GetName())
		}
	}
	switch slices.Sort(names); {
	case d.inTree():
		return fmt.Sprintf("%s is an in-tree plugin, whose volumes cannot be snapshotted: %s", d, kind.without)
	case len(names) == 0:
		return fmt.Sprintf("driver %s has none: create one, or %s", d, kind.without)
	}
	return fmt.Sprintf("in the schedule, name one of driver %s: %s", d, report.List(names, maxNames))
}

// maxNames is how many bytes of names a message lists.
const maxNames = 200

// ofOthers refuses if the class that is named exists, and belongs to another driver.
func (c Classes) ofOthers(w wanted, d driver) Problem {
	if w.name == nil || d == "" || !c.knows(w.kind.ofGroup) {
		return Problem{}
	}
	found, of := c.find(w.kind.ofGroup, *w.name)
	if found == nil || of == d {
		return Problem{}
	}
	return Problem{Reason: w.kind.wrong, Message: fmt.Sprintf("%s %s belongs to driver %s, and the %s to driver %s; %s",
		w.kind.name, *w.name, of, w.kind.whose, d, c.others(w.kind, d))}
}

// unlisted refuses if none of the classes that are listed can be chosen.
func (c Classes) unlisted(w wanted, d driver) Problem {
	if w.name != nil || len(w.listed) == 0 || c.Known && d != "" {
		return Problem{}
	}
	message := "the driver of the PVC is unknown, so none of volumeSnapshotClassNames can be chosen; " +
		"set volumeSnapshotClassName, or annotation " + annotationProvisioner + " of the PVC"
	if !c.Known {
		message = "the operator may not read VolumeSnapshotClasses, so it cannot choose one of volumeSnapshotClassNames; " +
			"set volumeSnapshotClassName instead"
	}
	return Problem{Reason: w.kind.wrong, Message: message}
}

// noDefault refuses if a default class is needed, and a driver has not exactly one: the snapshot controller finds none then.
func (c Classes) noDefault(w wanted, d driver) Problem {
	if d == "" || !c.knows(w.kind.ofGroup) || c.pick(w, d) != nil {
		return Problem{}
	}
	isDefault := func(class client.Object) bool { return class.GetAnnotations()[w.kind.annotation] == "true" }
	n := 0
	for class, of := range c.each(w.kind.ofGroup) {
		if of == d && isDefault(class) {
			n++
		}
	}
	if n == 1 { // as always, and each pass over a key asks
		return Problem{}
	}
	var all, defaults []string
	for class, of := range c.each(w.kind.ofGroup) {
		if of != d {
			continue
		}
		if all = append(all, class.GetName()); isDefault(class) {
			defaults = append(defaults, class.GetName())
		}
	}
	if len(all) == 0 {
		return Problem{Reason: w.kind.wrong, Message: c.unsuited(w, d).Message}
	}
	return Problem{Reason: w.kind.notOne, Message: notOneDefault(w.kind, d, all, defaults)}
}

// notOneDefault says that a driver has not exactly one default class, and what to do. The API server validates the names of classes.
func notOneDefault(kind *kindOfClass, d driver, all, defaults []string) string {
	slices.Sort(all)
	slices.Sort(defaults)
	annotate := "kubectl annotate " + kind.resource
	switch {
	case len(all) == 1:
		return fmt.Sprintf("the only %s of driver %s, %s, is not its default: %s '%s' --overwrite %s=true",
			kind.name, d, all[0], annotate, all[0], kind.annotation)
	case len(defaults) > 1:
		return fmt.Sprintf("%d %ses of driver %s are its default: %s; name one in the schedule, or leave one the default: %s '%s' %s-",
			len(defaults), kind.name, d, report.List(defaults, maxNames), annotate, defaults[1], kind.annotation)
	}
	return fmt.Sprintf("none of the %d %ses of driver %s is its default: %s; "+
		"name one in the schedule, or make one the default: %s '%s' --overwrite %s=true",
		len(all), kind.name, d, report.List(all, maxNames), annotate, all[0], kind.annotation)
}

// driverOfFirst returns the driver of a PVC, which may be gone.
func driverOfFirst(claims []*corev1.PersistentVolumeClaim) (d driver, refused Problem) {
	if len(claims) > 0 {
		d = driverOf(claims[0])
	}
	return d, Problem{}
}

// driverOfGroup returns the driver of the PVCs of a group, empty if it is unknown.
func driverOfGroup(claims []*corev1.PersistentVolumeClaim) (d driver, refused Problem) {
	first := ""
	for _, claim := range claims {
		switch other := driverOf(claim); {
		case other.inTree():
			return "", Problem{Reason: v1alpha1.ReasonNoGroupSnapshotClass,
				Message: fmt.Sprintf("PVC %s belongs to %s, an in-tree plugin, whose volumes cannot be snapshotted", claim.Name, other)}
		case other == "" || other == d:
		case d == "":
			d, first = other, claim.Name
		default:
			return "", Problem{Reason: v1alpha1.ReasonMixedDrivers, Message: fmt.Sprintf(
				"the PVCs of the group belong to several drivers, such as %s to %s and %s to %s: divide them by a label, with spec.group.byLabel",
				first, d, claim.Name, other)}
		}
	}
	return d, Problem{}
}

// retains returns whether the data of a snapshot of a class stays in the storage when it is
// deleted, as the class is now. No class stands for the driver's default.
func (c Classes) retains(kind *kindOfClass, name *string, d driver) bool {
	for o, of := range c.each(kind.ofGroup) {
		if Leaves(o) && (name != nil && o.GetName() == *name ||
			name == nil && of == d && o.GetAnnotations()[kind.annotation] == "true") {
			return true
		}
	}
	return false
}

// limitedBy returns the driver whose limit snapshots of a class count towards, of PVCs of a driver.
// Unless the spec names classes, that is the PVC's: the class that the snapshot
// controller fills in later must not change it. Only drivers of classes have a limit of
// their own, so that nobody can make one up; where classes cannot be read, the name of
// the class stands for the driver.
func (c Classes) limitedBy(w wanted, d driver, class *string) driver {
	named := class != nil && (w.name != nil || len(w.listed) > 0)
	switch {
	case !c.Known && named:
		return driver(*class)
	case !c.Known:
		return ""
	case named && c.knows(w.kind.ofGroup):
		// A group that names the class of another driver is refused.
		if found, of := c.find(w.kind.ofGroup, *class); found != nil && (!w.kind.ofGroup || d == "" || of == d) {
			return driverNamed(string(of))
		}
	}
	if c.has(w.kind.ofGroup, d) || c.has(false, d) {
		return d
	}
	return ""
}
