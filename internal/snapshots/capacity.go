// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// capacity is what the storage of a driver can take; zero: any number.
type capacity struct {
	inFlight, pending, perVolume int
	spacing                      time.Duration
	// perVolumeClass is the class that says perVolume.
	perVolumeClass string
	// invalid says which annotation is ignored, and why.
	invalid string
}

// capacityOf returns the strictest of what the classes of a driver say.
func (c Classes) capacityOf(d driver) (found capacity) {
	if d == "" {
		return found
	}
	for _, class := range c.All {
		if of, isClass := driverOfClass(class); !isClass || of != d || len(class.GetAnnotations()) == 0 {
			continue
		}
		stricter(&found.inFlight, found.number(class, v1alpha1.AnnotationMaxInFlight))
		stricter(&found.pending, found.number(class, v1alpha1.AnnotationMaxPending))
		if before := found.perVolume; stricter(&found.perVolume, found.number(class, v1alpha1.AnnotationMaxPerVolume)) != before {
			found.perVolumeClass = class.GetName()
		}
		if text, ok := class.GetAnnotations()[v1alpha1.AnnotationMinSpacing]; ok {
			spacing, err := schedule.ParseDuration(text)
			if err != nil {
				found.refuse(class, v1alpha1.AnnotationMinSpacing, "a duration such as 10m")
			}
			found.spacing = max(found.spacing, spacing)
		}
	}
	return found
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

// stricter sets a limit to another one if that is stricter, and returns it. Zero is none.
func stricter(limit *int, other int) int {
	if other > 0 && (*limit == 0 || other < *limit) {
		*limit = other
	}
	return *limit
}

// number returns the value of an annotation; zero if it is missing or malformed.
func (c *capacity) number(class client.Object, annotation string) int {
	text, ok := class.GetAnnotations()[annotation]
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		c.refuse(class, annotation, "a number from 1 on")
		return 0
	}
	return n
}

// refuse says that an annotation is malformed: of several the one that comes first by name.
func (c *capacity) refuse(class client.Object, annotation, want string) {
	kind := "VolumeSnapshotClass"
	if _, isGroup := class.(*groupv1.VolumeGroupSnapshotClass); isGroup {
		kind = "VolumeGroupSnapshotClass"
	}
	message := fmt.Sprintf("annotation %s of %s %s is %s, which is not %s; it is ignored",
		annotation, kind, class.GetName(), strconv.Quote(report.Text(class.GetAnnotations()[annotation], maxAnnotation)), want)
	if c.invalid == "" || message < c.invalid {
		c.invalid = message
	}
}

// maxAnnotation is how many bytes of a malformed annotation are shown.
const maxAnnotation = 64

// problem is what is wrong with the annotations, of the schedule itself; nil: nothing.
func (c *capacity) problem() *Problem {
	if c.invalid == "" {
		return nil
	}
	return &Problem{Reason: v1alpha1.ReasonInvalidClassAnnotation, Message: c.invalid}
}

// volume is what is seen of the volume of a PVC.
type volume struct {
	capacity capacity
	// snapshots are those that the storage has of it, by our labels, over all schedules, but
	// for imported ones, group snapshots included, and terminating those of them that are being deleted.
	snapshots   []client.Object
	terminating []string
}

// volumesOf returns the volumes of the PVCs of a group.
func volumesOf(of *subject, c capacity, seen mapcontroller.Observation) []volume {
	all := make([]volume, len(of.claims))
	for i, claim := range of.claims {
		all[i] = volumeOf(claim, c, seen)
	}
	return all
}

// volumeOf returns the volume of a PVC with all its snapshots, among which the outputs may be.
func volumeOf(claim *corev1.PersistentVolumeClaim, c capacity, seen mapcontroller.Observation) (v volume) {
	v.capacity = c
	if c.perVolume == 0 && c.spacing == 0 {
		return v
	}
	known := sets.New[string]()
	for _, o := range slices.Concat(seen.Outputs, seen.Related) {
		if o.GetNamespace() != claim.Namespace || !isOf(o, claim) || known.Has(o.GetName()) {
			continue
		}
		known.Insert(o.GetName())
		v.snapshots = append(v.snapshots, o)
		if o.GetDeletionTimestamp() != nil {
			v.terminating = append(v.terminating, o.GetName())
		}
	}
	slices.Sort(v.terminating)
	return v
}

// isOf returns whether a snapshot, or a group snapshot, is of a PVC.
func isOf(o client.Object, claim *corev1.PersistentVolumeClaim) bool {
	switch v := o.(type) {
	case *snapshotv1.VolumeSnapshot:
		return claimName(o) == claim.Name && o.GetLabels()[v1alpha1.LabelMapKey] == string(claim.UID)
	case *groupv1.VolumeGroupSnapshot:
		imported := v.Spec.Source.VolumeGroupSnapshotContentName != nil
		return !imported && isGroupKey(v.Labels[v1alpha1.LabelMapKey]) && ClaimsOf(v)[claim.Name] == claim.UID
	}
	return false
}

// full returns whether a volume has no place for a snapshot.
func (v *volume) full() bool {
	return v.capacity.perVolume > 0 && len(v.snapshots) >= v.capacity.perVolume
}

// limits returns a volume as limits see it.
func (v *volume) limits(name string) limits.Volume {
	l := limits.Volume{Name: name, Max: v.capacity.perVolume, Spacing: v.capacity.spacing}
	for _, s := range v.snapshots {
		l.Snapshots = append(l.Snapshots, s.GetName())
		if created := s.GetCreationTimestamp().Add(time.Second); created.After(l.Newest) { // it is truncated to a second
			l.Newest = created
		}
	}
	return l
}

// problem says what does not fit into a volume: a slot that is due, or what a spec keeps.
func (v *volume) problem(spec *compiled, due bool) Problem {
	p := Problem{Reason: v1alpha1.ReasonVolumeLimit}
	if due && v.full() {
		p.Message = fmt.Sprintf("class %s allows %d snapshots per PVC, and there are %d",
			v.capacity.perVolumeClass, v.capacity.perVolume, len(v.snapshots))
		if len(v.terminating) > 0 {
			p.Message += ", of which are being deleted: " + report.List(v.terminating, maxTerminating)
		}
		return p
	}
	if v.capacity.perVolume == 0 {
		return Problem{}
	}
	n, all := spec.kept()
	if !all && n < v.capacity.perVolume {
		return Problem{}
	}
	keeps := fmt.Sprintf("up to %d snapshots", n)
	if all {
		keeps = "every snapshot"
	}
	p.Harmless = true
	p.Message = fmt.Sprintf("keeps %s per PVC and needs a place for the next; class %s allows %d",
		keeps, v.capacity.perVolumeClass, v.capacity.perVolume)
	return p
}

// maxTerminating is how many bytes the names of snapshots that are being deleted may have.
const maxTerminating = 400
