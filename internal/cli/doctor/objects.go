// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// tooLong is from when on a deletion, or an error of a snapshot, is a problem; settles is how old a content is before it is
// one that its snapshot does not exist; lies is how old what a rollback has left must be.
const (
	tooLong = time.Hour
	settles = 10 * time.Minute
	lies    = 7 * 24 * time.Hour
)

// snapshots iterates over the snapshots of both kinds, by namespace and name.
func (s *seen) snapshots() iter.Seq[client.Object] {
	return func(yield func(client.Object) bool) {
		for _, kind := range []map[string][]client.Object{s.inventory.Snapshots, s.inventory.Groups} {
			for _, namespace := range slices.Sorted(maps.Keys(kind)) {
				for _, o := range kind[namespace] {
					if !yield(o) {
						return
					}
				}
			}
		}
	}
}

// groups returns whether a schedule takes group snapshots.
func (s *seen) groups() bool {
	return slices.ContainsFunc(s.schedules, func(x *v1alpha1.SnapshotSchedule) bool { return x.Spec.Group != nil })
}

// checkSchedules finds the schedules that protect nothing.
func checkSchedules(s *seen) (all found) {
	if s.denied(&all, "snapshotschedules", inventory) {
		return all
	}
	protects := 0
	for _, x := range s.schedules {
		fix, why := s.protectsNothing(x)
		if why == "" {
			protects++
			continue
		}
		all.problem(fix, "SnapshotSchedule %s/%s %s", x.Namespace, x.Name, why)
	}
	if len(s.schedules) == 0 {
		all.ok("there is no SnapshotSchedule here")
	}
	if protects > 0 {
		all.ok("%s of %d select PVCs that can be snapshotted; kubectl snapsched coverage says which are protected",
			term.Plural(protects, "SnapshotSchedule"), len(s.schedules))
	}
	return all.bounded("SnapshotSchedules")
}

// protectsNothing says why a schedule protects no PVC, with the command that solves or shows it; empty if it protects one.
func (s *seen) protectsNothing(x *v1alpha1.SnapshotSchedule) (fix, why string) {
	fix = command("kubectl snapsched status -n %s %s", x.Namespace, x.Name)
	judge, series, err := s.inventory.Judged(x, s.now)
	if err != nil {
		return fix, "has an invalid spec: " + err.Error()
	}
	if s.inventory.Origins.Decided(x).Spec.Suspend {
		origin := s.inventory.Origins.Of(x)
		switch {
		case !snapshots.IsChild(x, origin...):
			return command("kubectl snapsched resume -n %s %s", x.Namespace, x.Name), "is suspended"
		case len(origin) == 2 && !snapshots.SelectsNamespace(origin[0].(*v1alpha1.ClusterSnapshotSchedule), origin[1]):
			return fix, "is suspended, because its ClusterSnapshotSchedule does not select the namespace"
		}
		return command("kubectl snapsched resume --cluster-schedule %s", x.Name), "is suspended by its ClusterSnapshotSchedule"
	}
	why = "protects nothing: it selects no PVC"
	for of, d := range series {
		switch {
		case of.State(judge) != view.StateSelected:
		case d.SkipReason == "":
			return "", ""
		default:
			why = "protects nothing: none of its PVCs can be snapshotted"
		}
	}
	return fix, why
}

// checkSnapshots finds the snapshots that do not become ready, or do not go.
func checkSnapshots(s *seen) (all found) {
	if s.denied(&all, inventory) {
		return all
	}
	n, deadlines := 0, s.readyDeadlines()
	for o := range s.snapshots() {
		n++
		resource, kind := view.ResourceOf(o)
		describe := command("kubectl describe -n %s %s %s", o.GetNamespace(), resource, o.GetName())
		switch deleted := o.GetDeletionTimestamp(); {
		case deleted != nil && s.now.Sub(deleted.Time) > tooLong:
			all.problem(describe, "%s %s/%s is being deleted for %s", kind, o.GetNamespace(), o.GetName(), term.Age(s.now, deleted.Time))
		case s.fails(o, deadlines):
			all.problem(describe, "%s %s/%s is not ready after %s: %s", kind, o.GetNamespace(), o.GetName(),
				term.Age(s.now, o.GetCreationTimestamp().Time), cmp.Or(backup.DriverError(o), "no error is known"))
		}
	}
	if len(all) == 0 {
		all.ok("of %s, none fails, and none is being deleted for more than an hour", term.Plural(n, "snapshot"))
	}
	return all.bounded("snapshots")
}

// readyDeadlines returns those of the schedules, as far as their specs are valid.
func (s *seen) readyDeadlines() map[client.ObjectKey]time.Duration {
	all := map[client.ObjectKey]time.Duration{}
	for _, x := range s.schedules {
		if judge, err := s.inventory.Judge(x); err == nil {
			all[client.ObjectKeyFromObject(x)] = judge.ReadyDeadline()
		}
	}
	return all
}

// fails returns whether a snapshot fails, as the operator sees it, or is not ready for too long. A member is of the schedule of its
// group.
func (s *seen) fails(o client.Object, deadlines map[client.ObjectKey]time.Duration) bool {
	v, of := backup.Of(o), o
	if group := backup.LabeledMember(o); group != "" {
		for _, g := range s.inventory.Groups[o.GetNamespace()] {
			if g.GetName() == group {
				of = g
			}
		}
	}
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: of.GetLabels()[v1alpha1.LabelSchedule]}
	switch v.State(s.now, cmp.Or(deadlines[key], view.DefaultReadyDeadline)) {
	case retention.Failed:
		return true
	case retention.InProgress, retention.Retrying:
		age := s.now.Sub(v.Created)
		return (v.HasError || v.Imported) && age > tooLong || age > snapshots.LongestUpload
	}
	return false
}

// checkLeftovers finds what is left of snapshots and rollbacks.
func checkLeftovers(s *seen) (all found) {
	s.checkContents(&all)
	needed := sets.New[string]()
	for _, r := range s.rollbacks {
		needed.Insert(r.ID)
		advice, fix, _ := strings.Cut(r.Remedy, ": ")
		all.problem(fix, "a rollback of %s in namespace %s is unfinished since %s: %s", strings.Join(r.Claims, ", "), r.Namespace,
			term.Age(s.now, r.BeganTime.Time), advice)
	}
	if !s.denied(&all, unfinished, inventory) { // else what an unfinished rollback needs is not known
		s.checkReplaced(&all, needed)
	}
	if len(all) == 0 {
		all.ok("nothing is left of rollbacks and deleted snapshots")
	}
	return all.bounded("objects")
}

// checkContents finds the contents whose snapshot does not exist.
func (s *seen) checkContents(all *found) {
	for i := range s.contents.Items {
		c := &s.contents.Items[i]
		of := c.Spec.VolumeSnapshotRef
		uid, exists := s.anywhere[types.NamespacedName{Namespace: of.Namespace, Name: of.Name}]
		deleted := c.DeletionTimestamp // the snapshot goes first, and a driver may take minutes
		moves := s.now.Sub(c.CreationTimestamp.Time) < settles || deleted != nil && s.now.Sub(deleted.Time) < tooLong
		if s.anywhere == nil || moves || exists && (of.UID == "" || uid == string(of.UID)) {
			continue
		}
		all.problem(command("kubectl describe volumesnapshotcontent %s", c.Name),
			"VolumeSnapshotContent %s (%s, deletionPolicy %s) is of VolumeSnapshot %s/%s, which does not exist: the storage keeps its data",
			c.Name, term.Age(s.now, c.CreationTimestamp.Time), c.Spec.DeletionPolicy, of.Namespace, of.Name)
	}
}

// checkReplaced finds what rollbacks have left on purpose, but for those that are unfinished.
func (s *seen) checkReplaced(all *found, needed sets.Set[string]) {
	for i := range s.volumes.Items {
		if v := &s.volumes.Items[i]; needed.Len() == 0 && s.replaced.Has(v.Name) && v.Status.Phase == corev1.VolumeReleased {
			capacity := v.Spec.Capacity[corev1.ResourceStorage]
			all.left(s, v, command("kubectl describe persistentvolume %s", v.Name),
				"PersistentVolume %s (%s) has the data from before a rollback", v.Name, capacity.String())
		}
	}
	for o := range s.snapshots() {
		v, single := o.(*snapshotv1.VolumeSnapshot)
		if !single || !recovery.OfRollback(v) { // whoever may write a snapshot of a schedule can give it the label
			continue
		}
		if id := v.Labels[v1alpha1.LabelRollback]; !needed.Has(id) {
			all.left(s, v, command("kubectl describe -n %s volumesnapshot %s", v.Namespace, v.Name),
				"VolumeSnapshot %s/%s (%s) is the safety snapshot of rollback %s", v.Namespace, v.Name,
				cmp.Or(backup.SizeText(v), "of unknown size"), id)
		}
	}
}

// left adds what a rollback has left on purpose: a problem once it is old.
func (f *found) left(s *seen, o client.Object, fix, format string, args ...any) {
	format, args = format+", and is %s old", append(args, term.Age(s.now, o.GetCreationTimestamp().Time))
	if s.now.Sub(o.GetCreationTimestamp().Time) < lies {
		f.ok(format, args...)
		return
	}
	f.problem(fix, format+": delete it if it is not needed any more", args...)
}
