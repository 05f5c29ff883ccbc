// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
)

// silence is how long the snapshot controller and a sidecar may take before they count as not reacting.
const silence = 2 * time.Minute

// checkController says whether the snapshot controller reacts: it binds snapshots to contents.
func checkController(s *seen) (all found) {
	if s.denied(&all, inventory) {
		return all
	}
	var waits client.Object
	reacted := false
	for o := range s.snapshots() {
		v, single := o.(*snapshotv1.VolumeSnapshot)
		switch {
		case !single:
		case backup.ContentName(v) != "" || backup.DriverError(v) != "":
			reacted = true
		case backup.Terminating(v) || s.now.Sub(v.CreationTimestamp.Time) < silence || waits != nil:
		default:
			waits = v
		}
	}
	switch {
	case waits != nil:
		all.problem("kubectl get pods -A | grep snapshot-controller", "VolumeSnapshot %s/%s is %s old, and no snapshot controller has reacted: "+
			"it is not running, or is not allowed to", waits.GetNamespace(), waits.GetName(), term.Age(s.now, waits.GetCreationTimestamp().Time))
	case reacted:
		all.ok("it has reacted to every VolumeSnapshot")
	default:
		all.unknown("", "there is no VolumeSnapshot by which it could be seen")
	}
	return all
}

// checkDrivers examines each driver that has a StorageClass, a VolumeSnapshotClass or a volume.
func checkDrivers(s *seen) (all found) {
	s.denied(&all, "storageclasses", "csidrivers", "persistentvolumes", "volumesnapshotcontents")
	if s.denied(&all, inventory, "volumesnapshotclasses") {
		return all
	}
	used, installed, classes := sets.New[string](), sets.New[string](), map[string][]*snapshotv1.VolumeSnapshotClass{}
	for i := range s.storage {
		used.Insert(s.storage[i].Provisioner)
	}
	for i := range s.volumes {
		if csi := s.volumes[i].Spec.CSI; csi != nil {
			used.Insert(csi.Driver)
		}
	}
	for i := range s.drivers {
		installed.Insert(s.drivers[i].Name)
	}
	for _, o := range s.inventory.Classes.All {
		if class, single := o.(*snapshotv1.VolumeSnapshotClass); single {
			classes[class.Driver] = append(classes[class.Driver], class)
		}
	}
	for _, name := range sets.List(used.Union(sets.KeySet(classes))) {
		s.checkDriver(&all, name, classes[name], installed.Has(name) || s.unread["csidrivers"] != nil)
	}
	return all
}

// checkDriver examines a driver, which may be installed.
func (s *seen) checkDriver(all *found, name string, classes []*snapshotv1.VolumeSnapshotClass, mayExist bool) {
	switch known, _ := drivers.Find(name); {
	case known.NoSnapshots:
		all.ok("%s (%s) takes no snapshots; kubectl snapsched coverage names its PVCs", name, known.Storage)
	case strings.HasPrefix(name, "kubernetes.io/") || len(classes) == 0 && !mayExist:
		all.ok("%s is no CSI driver, and takes no snapshots; kubectl snapsched coverage names its PVCs", name)
	case !mayExist:
		all.problem("kubectl get csidrivers", "VolumeSnapshotClass %s is of driver %s, which is not installed: no CSIDriver has the name",
			classes[0].Name, name)
	default:
		s.checkClasses(all, name, classes)
		s.checkLimits(all, name, classes)
		s.checkSidecar(all, name)
	}
}

// newClass is the command that creates the default class of a driver.
const newClass = `echo '{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshotClass","metadata":{"name":"%[1]s",` +
	`"annotations":{"snapshot.storage.kubernetes.io/is-default-class":"true"}},"driver":"%[1]s","deletionPolicy":"Delete"}' | ` +
	`kubectl create -f -`

// checkClasses examines the classes of a driver that can take snapshots.
func (s *seen) checkClasses(all *found, name string, classes []*snapshotv1.VolumeSnapshotClass) {
	if len(classes) == 0 {
		all.problem(fmt.Sprintf(newClass, name), "driver %s has no VolumeSnapshotClass: no snapshot is taken of its PVCs", name)
	} else if wrong := s.inventory.Classes.Wrong(name); wrong != "" {
		all.problem("", "%s", wrong) // which has the command
	} else {
		all.ok("%s has a default VolumeSnapshotClass", name)
	}
	for _, class := range classes {
		if class.DeletionPolicy == snapshotv1.VolumeSnapshotContentRetain {
			all.problem(fmt.Sprintf(`kubectl patch volumesnapshotclass %s --type=merge -p '{"deletionPolicy":"Delete"}'`, class.Name),
				"VolumeSnapshotClass %s has the deletionPolicy Retain: the storage keeps, and bills, what a schedule deletes", class.Name)
		}
	}
}

// checkLimits finds the limits of a driver that none of its classes states: the strictest value of them holds.
func (s *seen) checkLimits(all *found, name string, classes []*snapshotv1.VolumeSnapshotClass) {
	known, _ := drivers.Find(name)
	var lacks []string
	for _, key := range slices.Sorted(maps.Keys(known.Annotate)) {
		stated := func(class *snapshotv1.VolumeSnapshotClass) bool { return class.Annotations[key] != "" }
		if !slices.ContainsFunc(classes, stated) {
			lacks = append(lacks, key+"="+known.Annotate[key])
		}
	}
	if len(classes) > 0 && len(lacks) > 0 {
		all.problem(fmt.Sprintf("kubectl annotate volumesnapshotclass %s %s", classes[0].Name, strings.Join(lacks, " ")),
			"no VolumeSnapshotClass of %s states the limits of %s (%s)", name, known.Storage, known.Source)
	}
}

// checkSidecar says whether the csi-snapshotter of a driver reacts: it gives contents a handle, or an error. One that waits behind
// others has newer ones beside it that have a handle.
func (s *seen) checkSidecar(all *found, name string) {
	var waits, answered *snapshotv1.VolumeSnapshotContent
	for i := range s.contents {
		c := &s.contents[i]
		switch {
		case c.Spec.Driver != name || c.Spec.Source.VolumeHandle == nil || c.DeletionTimestamp != nil:
		case backup.Answered(c):
			answered = later(answered, c)
		case waits == nil || later(c, waits) == waits:
			waits = c
		}
	}
	switch {
	case waits == nil && answered == nil && s.unread["volumesnapshotcontents"] == nil:
		all.unknown("", "%s has no VolumeSnapshotContent by which its csi-snapshotter could be seen", name)
	case waits != nil && s.now.Sub(waits.CreationTimestamp.Time) >= silence && later(answered, waits) == waits:
		all.problem("kubectl get pods -A | grep csi", "VolumeSnapshotContent %s is %s old, and the csi-snapshotter of %s has not reacted: "+
			"the driver's controller has no such sidecar, or it is not running", waits.Name, term.Age(s.now, waits.CreationTimestamp.Time), name)
	}
}

// later returns the content that was created later: b, if both were created at the same time, or a is nil.
func later(a, b *snapshotv1.VolumeSnapshotContent) *snapshotv1.VolumeSnapshotContent {
	if a == nil || !b.CreationTimestamp.Before(&a.CreationTimestamp) {
		return b
	}
	return a
}
