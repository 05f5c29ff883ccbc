// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// silence is how long the snapshot controller and a sidecar may take before they count as not reacting.
const silence = 2 * time.Minute

// reaction is what objects show of a controller: the newest one to which it has reacted, and the newest one that has waited too long.
type reaction struct{ answered, waits client.Object }

func (r *reaction) add(o client.Object, answered bool, now time.Time) {
	newest := &r.answered
	if !answered {
		newest = &r.waits
		if backup.Terminating(o) || now.Sub(o.GetCreationTimestamp().Time) < silence {
			return
		}
	}
	if *newest == nil || (*newest).GetCreationTimestamp().Time.Before(o.GetCreationTimestamp().Time) {
		*newest = o
	}
}

// none returns whether the controller does not react. One object alone may wait while later ones do not.
func (r *reaction) none() bool {
	return r.waits != nil && (r.answered == nil || r.answered.GetCreationTimestamp().Time.Before(r.waits.GetCreationTimestamp().Time))
}

// age is how long ago the object was made that has waited too long.
func (r *reaction) age(now time.Time) string {
	return term.Age(now, r.waits.GetCreationTimestamp().Time)
}

// checkController says whether the snapshot controller reacts: it binds snapshots to contents.
func checkController(s *seen) (all found) {
	if s.denied(&all, inventory) {
		return all
	}
	var r reaction
	for o := range s.snapshots() {
		if v, single := o.(*snapshotv1.VolumeSnapshot); single {
			r.add(v, backup.ContentName(v) != "" || backup.DriverError(v) != "", s.now)
		}
	}
	switch {
	case r.none():
		all.problem("kubectl get pods -A | grep snapshot-controller", "VolumeSnapshot %s/%s is %s old, and no snapshot controller has reacted: "+
			"it is not running, or is not allowed to", r.waits.GetNamespace(), r.waits.GetName(), r.age(s.now))
	case r.answered != nil:
		all.ok("it has reacted to VolumeSnapshots")
	default:
		all.unknown("", "there is no VolumeSnapshot by which it could be seen")
	}
	return all
}

// checkDrivers examines each driver that has a StorageClass, a class of snapshots or a volume.
func checkDrivers(s *seen) (all found) {
	s.denied(&all, "storageclasses", "persistentvolumes", "volumesnapshotcontents")
	unsure := s.denied(&all, "csidrivers", "csinodes")
	if s.denied(&all, inventory, "volumesnapshotclasses") {
		return all
	}
	used, installed := sets.New(s.inventory.Classes.Drivers()...), sets.New[string]()
	for i := range s.storage.Items {
		used.Insert(s.storage.Items[i].Provisioner)
	}
	for i := range s.volumes.Items {
		if csi := s.volumes.Items[i].Spec.CSI; csi != nil {
			used.Insert(csi.Driver)
		}
	}
	for i := range s.drivers.Items {
		installed.Insert(s.drivers.Items[i].Name)
	}
	for i := range s.nodes.Items { // a driver may do without a CSIDriver
		for _, d := range s.nodes.Items[i].Spec.Drivers {
			installed.Insert(d.Name)
		}
	}
	for _, name := range sets.List(used) {
		s.checkDriver(&all, name, unsure || installed.Has(name))
	}
	return all
}

// checkDriver examines a driver, which may be installed.
func (s *seen) checkDriver(all *found, name string, mayExist bool) {
	singles, groups := s.inventory.Classes.Of(name, false), s.inventory.Classes.Of(name, true)
	classes := slices.Concat(singles, groups)
	switch known, _ := drivers.Find(name); {
	case known.NoSnapshots:
		all.ok("%s (%s) takes no snapshots; kubectl snapsched coverage names its PVCs", name, known.Storage)
	case strings.HasPrefix(name, "kubernetes.io/") || len(classes) == 0 && !mayExist:
		all.ok("%s is no CSI driver that is installed: it takes no snapshots; kubectl snapsched coverage names its PVCs", name)
	case !mayExist:
		kind, class := kindOf(classes[0]), classes[0].GetName()
		all.problem("kubectl get csidrivers,csinodes", // it may be down, and come back
			"%s %s is of driver %s, which is down, or not installed: no CSIDriver and no node has it", kind, class, name)
	default:
		s.checkDefault(all, &known, name, len(singles))
		if why, fix := s.inventory.Classes.Wrong(name, true); why != "" && len(groups) > 0 && s.groups() {
			all.problem(fix, "%s", why)
		}
		s.checkRetained(all, name, classes)
		s.checkLimits(all, &known, name, classes)
		s.checkSidecar(all, name)
	}
}

// checkRetained finds the classes of a driver that retain. Those that no schedule uses are of others, such as a backup tool, which may
// need that.
func (s *seen) checkRetained(all *found, name string, classes []client.Object) {
	used := []client.Object{s.inventory.Classes.DefaultOf(name, false)} // also of the next schedule
	for _, x := range s.schedules {
		used = append(used, s.inventory.Classes.Used(&s.inventory.Origins.Decided(x).Spec, name))
	}
	for _, class := range classes {
		kind, called := kindOf(class), class.GetName()
		switch {
		case !snapshots.Leaves(class):
		case !slices.Contains(used, class):
			all.ok("%s %s has the deletionPolicy Retain, and no schedule here uses it", kind, called)
		case kind == "VolumeSnapshotClass":
			fix := command(`kubectl patch volumesnapshotclass %s --type=merge -p '{"deletionPolicy":"Delete"}'`, called)
			all.problem(fix, retained, kind, called)
		default:
			all.problem(command(replaceGroupClass, called, called+".json", called+".json"), retained+"; %s.json keeps the class as it is",
				kind, called, called)
		}
	}
}

const retained = "%s %s has the deletionPolicy Retain: the storage keeps, and bills, what a schedule deletes"

// replaceGroupClass gives a class of group snapshots, which is immutable, the deletionPolicy Delete. It is deleted and created again. If
// that fails in between, the file has it.
const replaceGroupClass = `kubectl get volumegroupsnapshotclass %s -o json > %s ` +
	`&& sed 's/"deletionPolicy": "Retain"/"deletionPolicy": "Delete"/' %s | kubectl replace --force -f -`

// kindOf returns the kind of a class.
func kindOf(class client.Object) string {
	if _, single := class.(*snapshotv1.VolumeSnapshotClass); single {
		return "VolumeSnapshotClass"
	}
	return "VolumeGroupSnapshotClass"
}

// checkDefault says whether a driver that can take snapshots has one default class.
func (s *seen) checkDefault(all *found, known *drivers.Driver, name string, classes int) {
	why, fix := s.inventory.Classes.Wrong(name, false)
	switch {
	case classes == 0 && known.Page != "":
		all.problem("", "driver %s has no VolumeSnapshotClass: no snapshot is taken of its PVCs; docs/storage/%s.md has one, with its parameters",
			name, known.Page)
	case classes == 0:
		class := &snapshotv1.VolumeSnapshotClass{
			TypeMeta:   metav1.TypeMeta{APIVersion: snapshotv1.SchemeGroupVersion.String(), Kind: "VolumeSnapshotClass"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"}},
			Driver:     name, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
		}
		maps.Copy(class.Annotations, known.Annotate)
		text, _ := json.Marshal(class) // it has strings only
		all.problem(command("printf %%s %s | kubectl create -f -", string(text)),
			"driver %s has no VolumeSnapshotClass: no snapshot is taken of its PVCs", name)
	case why != "":
		all.problem(fix, "%s", why)
	default:
		all.ok("%s has a default VolumeSnapshotClass", name)
	}
}

// checkLimits finds the limits of a driver that none of its classes states: the strictest value of them holds.
func (s *seen) checkLimits(all *found, known *drivers.Driver, name string, classes []client.Object) {
	stated, ignored, fix := s.inventory.Classes.Stated(name)
	if ignored != "" {
		all.problem(fix, "%s", ignored)
	}
	var lacks []string
	for _, key := range slices.Sorted(maps.Keys(known.Annotate)) {
		if !slices.Contains(stated, key) {
			lacks = append(lacks, key+"="+known.Annotate[key])
		}
	}
	if len(classes) > 0 && len(lacks) > 0 {
		annotate := command("kubectl annotate %s %s --overwrite ", strings.ToLower(kindOf(classes[0])), classes[0].GetName())
		all.problem(annotate+strings.Join(lacks, " "), "no class of %s states the limits of %s (%s)", name, known.Storage, known.Source)
	}
}

// checkSidecar says whether the csi-snapshotter of a driver reacts: it gives contents a handle, or an error.
func (s *seen) checkSidecar(all *found, name string) {
	var r reaction
	for i := range s.contents.Items {
		if c := &s.contents.Items[i]; c.Spec.Driver == name && c.Spec.Source.VolumeHandle != nil {
			r.add(c, backup.Answered(c), s.now)
		}
	}
	switch {
	case r.none():
		all.problem("kubectl get pods -A | grep csi", "VolumeSnapshotContent %s is %s old, and the csi-snapshotter of %s has not reacted: "+
			"the driver's controller has no such sidecar, or it is not running", r.waits.GetName(), r.age(s.now), name)
	case r.answered == nil && s.unread["volumesnapshotcontents"] == nil:
		all.unknown("", "%s has no VolumeSnapshotContent by which its csi-snapshotter could be seen", name)
	}
}
