// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/internal/cli/restore"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Plan returns the ten steps in words, those that are done already included. Next has
// found no objection.
func Plan(s *State) []string {
	var names, found, sources, volumes, meanwhile, restoredTo []string
	held := 0
	for _, c := range s.Claims {
		if c.done {
			continue
		}
		names = append(names, c.Name)
		for _, v := range c.backups() {
			if c.holds(v) {
				held++
			}
		}
		if v := c.oldVolume(s); v != nil {
			volumes = append(volumes, v.Name)
		}
		if c.Target != nil {
			found = append(found, fmt.Sprintf("%s, of %s", c.Target.Name, restore.Time(c.Target, s.Now).UTC().Format(time.RFC3339)))
			switch {
			case c.Manifest != nil:
				meanwhile = append(meanwhile, c.Manifest.Name)
				restoredTo = append(restoredTo, "PersistentVolumeClaim "+c.Manifest.Name)
			case c.restored != nil:
				meanwhile = append(meanwhile, c.restored.Name)
				restoredTo = append(restoredTo, "PersistentVolumeClaim "+c.restored.Name)
			case c.target != nil:
				restoredTo = append(restoredTo, "PersistentVolume "+c.target.Name)
			}
			continue
		}
		sources = append(sources, c.target.Name)
	}
	list := func(all []string) string { return strings.Join(all, "; ") }
	restored := "restore " + list(found) + ", to " + list(restoredTo)
	if len(found) == 0 {
		restored = "use the data of PersistentVolume " + list(sources) + ", which was kept"
	}
	down, up := "wait until no pod uses it", "scale nothing: no Deployment and no StatefulSet uses it"
	if w := s.Workload; w != nil {
		// After an interruption the workload may be at 0, and an undo has no record of its own yet.
		down = fmt.Sprintf("scale %s from %d to 0, and %s", w.Name(), Replicas(s), down)
		up = fmt.Sprintf("scale %s to %d", w.Name(), max(s.replicas(), Replicas(s)))
	}
	return []string{
		fmt.Sprintf("hold %s for %s", counted(held), hours(holdFor)),
		"take a snapshot of the present data",
		restored + "; write on its volume what has to be known after an interruption",
		"set the reclaim policy of that volume and of " + list(volumes) + " to Retain",
		down,
		"delete PersistentVolumeClaim " + list(append(names, meanwhile...)) + "; the volumes stay",
		"create PersistentVolumeClaim " + list(names) + " again, on the volume with the earlier data",
		"carry the snapshots over to it",
		"end the holds; " + list(volumes) + " stays, with the present data",
		up,
	}
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
		each = append(each, fmt.Sprintf("%s of %s, %s", c.Name, what, restore.Time(c.Target, s.Now).UTC().Format(time.RFC3339)))
	}
	if len(of) < 2 { // one group, or none
		return ""
	}
	return strings.Join(each, "; ")
}

// groupOf returns the name of the group snapshot that a snapshot is a member of; empty if it is of none.
func groupOf(v *snapshotv1.VolumeSnapshot) string {
	for _, owner := range v.OwnerReferences {
		if owner.Kind == "VolumeGroupSnapshot" && snapshots.GroupMember(v) {
			return owner.Name
		}
	}
	return ""
}

// replicas returns what the workload is scaled up to.
func (s *State) replicas() int32 {
	replicas := int32(0)
	for _, c := range s.Claims {
		if !c.done && c.record != nil {
			replicas = max(replicas, c.record.Replicas)
		}
	}
	if s.Workload != nil && replicas == 0 {
		return s.Workload.Replicas
	}
	return replicas
}

// Result says, once Next has found that all is done, what the PVCs have now, and which flags undo
// that; none if nothing was done.
func Result(s *State) (lines []string, undo string) {
	for _, c := range s.Claims {
		r := c.record
		if r == nil {
			lines = append(lines, fmt.Sprintf("PersistentVolumeClaim %s: no rollback to undo", c.Name))
			continue
		}
		what := "the data of VolumeSnapshot " + r.Snapshot
		if undo = "--undo"; r.Undo {
			what, undo = "its data from before the rollback", ""
			if r.Safety != "" && len(s.Claims) == 1 {
				undo = "--to-snapshot " + r.Safety
			}
		}
		line := fmt.Sprintf("PersistentVolumeClaim %s: has %s since %s", c.Name, what, r.Finished.UTC().Format(time.RFC3339))
		if r.Volume != c.target.Name {
			line += fmt.Sprintf("; what that replaced stays on PersistentVolume %s", r.Volume)
		}
		if r.Safety != "" {
			line += ", and in VolumeSnapshot " + r.Safety + ", which is held"
		}
		lines = append(lines, line)
	}
	return lines, undo
}

// ClaimsOf returns the names of the PVCs of a workload's pods, of a StatefulSet those of its present
// replicas. Of one that is scaled to 0 by somebody else, existing PVCs are found by their names.
func ClaimsOf(w *Workload, replicas int32, existing []string) []string {
	var names []string
	for _, v := range w.Template.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		}
	}
	for _, template := range w.claimTemplates() {
		prefix := template + "-" + w.Object.GetName() + "-"
		for ordinal := range replicas {
			names = append(names, fmt.Sprintf("%s%d", prefix, w.firstOrdinal()+ordinal))
		}
		for _, name := range existing {
			ordinal, ok := strings.CutPrefix(name, prefix)
			if ok && replicas == 0 && ordinal != "" && strings.Trim(ordinal, "0123456789") == "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Begun returns whether a rollback of a PVC is unfinished.
func Begun(s *State, name string) bool {
	return slices.ContainsFunc(s.unfinished(), func(r *Record) bool { return r.Claim.Name == name })
}

// unfinished returns the records of unfinished rollbacks of the namespace.
func (s *State) unfinished() (found []*Record) {
	for _, v := range s.Volumes {
		if r, err := RecordOf(v); err == nil && r != nil && r.Finished == nil && r.Claim.Namespace == s.Namespace {
			found = append(found, r)
		}
	}
	return found
}

// MapKeys returns the UIDs that a PVC had before its rollbacks, as their records say. By them alone imported snapshots
// of it are found once it is deleted.
func MapKeys(s *State, name string) map[types.UID]bool {
	keys := map[types.UID]bool{}
	for _, v := range s.Volumes {
		if r, err := RecordOf(v); err == nil && r != nil && r.Claim.Namespace == s.Namespace && r.Claim.Name == name {
			for _, key := range r.MapKeys {
				keys[key] = true
			}
		}
	}
	return keys
}

// WorkloadOf returns the name of the Deployment or StatefulSet whose pods use one of the PVCs, or that
// an unfinished rollback of one has scaled to 0; empty if there is none.
func WorkloadOf(s *State, claims []string) string {
	for _, r := range s.unfinished() {
		if r.Workload != "" && slices.Contains(claims, r.Claim.Name) {
			return r.Workload
		}
	}
	for _, p := range s.Pods {
		scales := p.Owner != nil && (p.Owner.Kind == "Deployment" || p.Owner.Kind == "StatefulSet")
		if scales && slices.ContainsFunc(claims, p.uses) {
			return strings.ToLower(p.Owner.Kind) + "/" + p.Owner.Name
		}
	}
	return ""
}

// Replicas returns how many the workload has, or had before an unfinished rollback scaled it to 0.
func Replicas(s *State) int32 {
	replicas := s.Workload.Replicas
	for _, r := range s.unfinished() {
		if s.Workload.Replicas == 0 && r.Workload == s.Workload.Name() {
			replicas = max(replicas, r.Replicas)
		}
	}
	return replicas
}

func counted(n int) string {
	if n == 1 {
		return "1 snapshot"
	}
	return fmt.Sprintf("%d snapshots", n)
}

func hours(d time.Duration) string { return fmt.Sprintf("%.0f h", d.Hours()) }
