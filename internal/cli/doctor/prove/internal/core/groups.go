// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// together are the PVCs of the group, in the order in which each record is written. labelGroup is the label by which it selects them.
var together = []string{"group-a", "group-b"}

const labelGroup = v1alpha1.Prefix + "proof-group"

// groupCuts is how many group snapshots are taken while the writer writes, and writesFor how long it goes on after each of them.
const (
	groupCuts = 3
	writesFor = 2 * time.Second
)

func groupName(i int) string { return fmt.Sprintf("cut-%d", i+1) }

// cutGroups takes one group snapshot after the other.
func cutGroups(p *Proof, s *Seen) Verdict {
	for i := range groupCuts {
		v := s.Groups[groupName(i)]
		switch {
		case s.Since < p.nextCut:
			return Verdict{Words: "the writer goes on"}
		case v == nil:
			return Verdict{Do: []change.Change{{Create: p.newGroup(groupName(i))}}}
		case backup.Uncut(v):
			return refused(s, backup.DriverError(v), fmt.Sprintf("VolumeGroupSnapshot %s is not cut yet", v.Name))
		case i == p.cuts:
			p.cuts, p.nextCut = p.cuts+1, s.Since+writesFor
			return Verdict{Words: "the writer goes on"}
		}
	}
	return Verdict{State: OK, Words: term.Plural(groupCuts, "group snapshot")}
}

// oneInstant restores the members of all group snapshots, and compares the journals.
func oneInstant(p *Proof, s *Seen) Verdict {
	const writer = "group-write"
	if pod := s.Pods[writer]; pod != nil {
		if !backup.Terminating(pod) {
			return Verdict{Do: []change.Change{{Delete: pod}}}
		}
		return Verdict{Words: "pod " + writer + " has not ended yet"}
	}
	if v := p.reads(s, "read-group", together); v.State != OK {
		return v
	}
	for i := range groupCuts {
		v := s.Groups[groupName(i)]
		if v == nil || !backup.Ready(v) {
			return refused(s, driverError(v), fmt.Sprintf("VolumeGroupSnapshot %s is not ready yet", groupName(i)))
		}
		members := membersOf(s, v)
		var names, claims []string
		for _, claim := range together {
			if members[claim] != "" {
				names, claims = append(names, members[claim]), append(claims, v.Name+"-"+claim)
			}
		}
		if len(names) < len(together) {
			return refused(s, fmt.Sprintf("VolumeGroupSnapshot %s has %d of %d members", v.Name, len(names), len(together)), "")
		}
		for _, name := range names {
			if !backup.Ready(s.Snapshots[name]) {
				return Verdict{Words: "VolumeSnapshot " + name + " is not ready yet"}
			}
		}
		if read := p.reads(s, "read-"+v.Name, claims, names...); read.State != OK {
			return read
		}
	}
	cuts := make([][]Reading, groupCuts)
	for i := range cuts {
		cuts[i] = p.read["read-"+groupName(i)]
	}
	return judgeGroups(cuts, p.read["read-group"], p.sumOf())
}

func driverError(v *groupv1.VolumeGroupSnapshot) string {
	if v == nil {
		return "it was deleted"
	}
	return backup.DriverError(v)
}

// membersOf returns the names of a group snapshot's members, by their PVCs.
func membersOf(s *Seen, group *groupv1.VolumeGroupSnapshot) map[string]string {
	members := map[string]string{}
	for name, v := range s.Snapshots {
		if backup.IsMember(v, group) {
			members[backup.ClaimName(v)] = name
		}
	}
	return members
}

// judgeGroups judges what was cut of two journals: each record is in the first volume before it is written into the second one, and in
// the second one before the next is written. At any instant, the first has as many records as the second, or one more. If the first
// volume is cut before the second, the second has more; if it is cut after it, the first has more by the records of the time between.
// Without a record between the cuts, nothing was shown.
func judgeGroups(cuts [][]Reading, written []Reading, sum string) Verdict {
	before := 0
	var unknown string
	for i, volumes := range cuts {
		for j, is := range volumes {
			if is.Wrong != "" || is.Sum != sum {
				return Verdict{State: Failed, Words: fmt.Sprintf("%s: %s has other bytes than were written %s", groupName(i), together[j], is.Wrong)}
			}
		}
		a, b := volumes[0], volumes[1]
		switch ahead := a.Records - b.Records; {
		case ahead < 0 || a.Mark != b.Mark:
			return Verdict{State: Failed, Words: fmt.Sprintf("%s was not cut at one instant: %s has %d records, and %s, written after it, %d",
				groupName(i), together[0], a.Records, together[1], b.Records)}
		case ahead > 1:
			return Verdict{State: Failed, Words: fmt.Sprintf("%s was not cut at one instant: %s has %d records, and %s lacks %d of them",
				groupName(i), together[0], a.Records, together[1], ahead)}
		case a.Records <= before || a.Mark || a.Records >= written[0].Records:
			unknown = "the writer did not write all the time"
		}
		before = a.Records
	}
	if unknown != "" {
		return Verdict{State: Unknown, Words: unknown}
	}
	return Verdict{State: OK, Words: fmt.Sprintf("%d cuts of %s", len(cuts), term.Plural(written[0].Records, "record"))}
}
