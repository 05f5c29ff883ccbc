// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/holders"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
)

// Heading says which rollback the plan is of.
func Heading(s *State) string {
	what := "Rollback " + s.lock.ID
	if s.lock.Undo != "" {
		what += ", which undoes rollback " + s.lock.Undo + ","
	}
	what += " of PersistentVolumeClaim " + joined(s.lock.Names())
	if !s.lock.Time.IsZero() {
		what = fmt.Sprintf("%s goes on: its last step was %d, at %s", what, s.lock.Step, s.lock.Time.UTC().Format(time.RFC3339))
	}
	return what
}

// Plan returns the steps in words, those that are done already included. Next has
// found no objection. An undo has only those steps that it takes.
func Plan(s *State) []string {
	moves, ends := s.planned()
	var lines []string
	add := func(number int, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("%2d. ", number)+fmt.Sprintf(format, args...))
	}
	if len(moves) > 0 {
		s.planMoves(moves, add)
	}
	if len(ends) > 0 {
		for _, c := range ends {
			if c.restored != nil {
				add(9, "delete PersistentVolumeClaim %s, to which rollback %s has restored", c.restored.Name, s.lock.Undo)
			}
		}
		add(9, "end the holds of rollback %s; PersistentVolumeClaim %s has its data from before", s.lock.Undo, joined(namesOf(ends)))
	}
	switch w := s.Workload; {
	case w == nil && len(moves) > 0:
		add(Steps, "scale nothing: no Deployment and no StatefulSet uses it")
	case w == nil:
	case s.lock.Replicas == 0:
		add(Steps, "leave %s at 0", w.Name())
	case len(moves) > 0 || w.Replicas == 0:
		add(Steps, "scale %s to %d", w.Name(), s.lock.Replicas)
	}
	return lines
}

// planned returns the PVCs that move to another volume, and those of which an undo only takes back what was prepared.
func (s *State) planned() (moves, ends []*Claim) {
	for _, c := range s.Claims {
		switch {
		case c.done:
		case c.stays:
			ends = append(ends, c)
		default:
			moves = append(moves, c)
		}
	}
	return moves, ends
}

// planMoves adds the steps 1 to 9 of PVCs that move.
func (s *State) planMoves(moves []*Claim, add func(number int, format string, args ...any)) {
	var found, sources, volumes, meanwhile []string
	held := map[types.UID]bool{}
	for _, c := range moves {
		for _, v := range c.backups() {
			if c.holds(v) {
				held[v.GetUID()] = true
			}
		}
		if v := c.oldVolume(s); v != nil {
			volumes = append(volumes, v.Name)
		}
		switch {
		case s.lock.Undo != "":
			sources = append(sources, c.target.Name)
		case c.record != nil:
			found = append(found, fmt.Sprintf("%s to PersistentVolume %s", c.Target.Name, c.target.Name))
		default:
			meanwhile = append(meanwhile, RestoredName(c.Name, s.lock.ID))
			found = append(found, fmt.Sprintf("%s, of %s, to PersistentVolumeClaim %s",
				c.Target.Name, recovery.Time(c.Target, s.Now).UTC().Format(time.RFC3339), RestoredName(c.Name, s.lock.ID)))
		}
	}
	names := joined(namesOf(moves))
	add(1, "hold %s for %s, and from step 5 on until step 9", counted(len(held)), hours(holders.For))
	if s.SkipSafety {
		add(2, "take no snapshot of the present data: PersistentVolume %s is then its only copy", joined(volumes))
	} else {
		add(2, "take a snapshot of the present data")
	}
	if s.lock.Undo != "" {
		add(3, "use the data of PersistentVolume %s, which was kept; write on it what has to be known after an interruption", joined(sources))
	} else {
		add(3, "restore %s; write on its volume what has to be known after an interruption", joined(found))
	}
	add(4, "set the reclaim policy of that volume and of %s to Retain", joined(volumes))
	if w := s.Workload; w != nil {
		add(5, "scale %s from %d to 0, and wait until no pod uses it", w.Name(), max(w.Replicas, s.lock.Replicas))
	} else {
		add(5, "wait until no pod uses it")
	}
	add(6, "delete PersistentVolumeClaim %s; the volumes stay", joined(append(meanwhile, namesOf(moves)...)))
	add(7, "create PersistentVolumeClaim %s again, on the volume with the earlier data", names)
	add(8, "carry the snapshots over to it")
	target := ""
	if s.lock.Undo == "" {
		target = ", but for that of the snapshot that it goes back to, which ends after " + hours(holders.For)
	}
	add(9, "end the holds%s; PersistentVolume %s stays, with the present data", target, joined(volumes))
}

func namesOf(claims []*Claim) (names []string) {
	for _, c := range claims {
		names = append(names, c.Name)
	}
	return names
}

// joined joins names, or more than names, in a sentence.
func joined(all []string) string {
	if n := len(all); n > 1 {
		return strings.Join(all[:n-1], ", ") + " and " + all[n-1]
	}
	return strings.Join(all, "")
}

// Untouched returns whether nothing was taken away yet, so that a rollback that cannot go on is given up.
func Untouched(s *State) bool {
	w := s.Workload
	return s.lock != nil && (w == nil || w.Replicas >= s.lock.Replicas) &&
		!slices.ContainsFunc(s.Claims, func(c *Claim) bool { return !c.done && (!c.old() || c.pvc.DeletionTimestamp != nil) })
}

// Apart says of which group snapshots the data of the PVCs would be, if any of it is of one, and not all of the same:
// what belongs together would be of different instants. Else it is empty.
func Apart(s *State) string {
	var each []string
	of := map[string]bool{}
	for _, c := range s.Claims {
		if c.done || c.Target == nil {
			continue
		}
		group := groupOf(c.Target)
		what := "VolumeGroupSnapshot " + group
		if group == "" {
			what = "VolumeSnapshot " + c.Target.Name
		}
		of[group] = true
		each = append(each, fmt.Sprintf("%s of %s, %s", c.Name, what, recovery.Time(c.Target, s.Now).UTC().Format(time.RFC3339)))
	}
	if len(of) < 2 { // one group, or none
		return ""
	}
	return strings.Join(each, "; ")
}

// groupOf returns the name of the group snapshot that a snapshot is a member of; empty if it is of none.
func groupOf(v *snapshotv1.VolumeSnapshot) string {
	for _, owner := range v.OwnerReferences {
		if owner.Kind == "VolumeGroupSnapshot" && backup.GroupMember(v) {
			return owner.Name
		}
	}
	return ""
}

// Result says, once Next has found that all is done, what the PVCs have now, and which flags undo
// that; none if there is nothing to undo.
func Result(s *State) (lines []string, undo string) {
	for _, c := range s.Claims {
		switch r := c.record; {
		case r != nil && r.Undo == "":
			undo = "--undo"
			lines = append(lines, fmt.Sprintf("PersistentVolumeClaim %s: has the data of VolumeSnapshot %s since %s, by rollback %s; %s",
				c.Name, r.Snapshot, finished(r), r.ID, c.replaced()))
		case r != nil:
			undo = "--undo=" + r.ID
			lines = append(lines, fmt.Sprintf("PersistentVolumeClaim %s: has its data from before rollback %s again, since %s; %s",
				c.Name, r.Undo, finished(r), c.replaced()))
		case c.stays:
			lines = append(lines, fmt.Sprintf("PersistentVolumeClaim %s: has kept its data; rollback %s was given up", c.Name, s.lock.Undo))
		default:
			lines = append(lines, fmt.Sprintf("PersistentVolumeClaim %s: nothing was done", c.Name))
		}
	}
	if w := s.Workload; w != nil && s.lock != nil && s.lock.Replicas == 0 && w.Replicas == 0 {
		lines = append(lines, fmt.Sprintf("%s stays at 0, where it was before. To start it: kubectl scale %s -n %s --replicas=N",
			w.Name(), w.Name(), s.Namespace))
	}
	return lines, undo
}

func finished(r *Record) string {
	if r.Finished == nil {
		return "now"
	}
	return r.Finished.UTC().Format(time.RFC3339)
}

// replaced says where the data is that a rollback has replaced.
func (c *Claim) replaced() string {
	where := "PersistentVolume " + c.record.Volume
	if names := c.safetiesOf(c.record.ID); len(names) > 0 {
		where += " and in VolumeSnapshot " + joined(names)
	}
	return "what that replaced is on " + where + ", until you delete it"
}

// MapKeys returns the UIDs that a PVC had before its rollbacks, as their records say. By them alone imported snapshots
// of it are found once it is deleted.
func MapKeys(s *State, name string) map[types.UID]bool {
	keys := map[types.UID]bool{}
	for _, r := range s.recordsOf(name) {
		for _, key := range r.MapKeys {
			keys[key] = true
		}
	}
	return keys
}

func counted(n int) string {
	if n == 1 {
		return "1 snapshot"
	}
	return fmt.Sprintf("%d snapshots", n)
}

func hours(d time.Duration) string { return fmt.Sprintf("%.0f h", d.Hours()) }
