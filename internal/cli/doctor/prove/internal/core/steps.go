// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Step is one row of the proof.
type Step struct {
	Name string
	// needs are steps without whose success this one shows nothing.
	needs []string
	// limit is how long the step may wait, and late what it has shown then.
	limit time.Duration
	late  State
	// next decides what to do from what there is. It is asked until it has a verdict.
	next func(*Proof, *Seen) Verdict
}

// The names of steps.
const (
	stepWrite       = "write"
	stepCut         = "cut"
	stepReady       = "ready"
	stepRead        = "read"
	stepRestore     = "restore"
	stepOnTime      = "cut on time"
	stepCopy        = "copy"
	stepAfterCopy   = "restore after copy"
	stepGone        = "delete volume"
	stepRestoreGone = "restore without volume"
	stepDelete      = "delete snapshot"
	stepCopyAlone   = "copy without snapshot"
	stepGroupWrite  = "group write"
	stepGroupCut    = "group cut"
	stepInstant     = "group at one instant"
	stepLimits      = "limits"
)

// Names of PVCs, and of the snapshot.
const (
	data, first, copied = "data", "first", "copy"
)

const (
	// patience is for what storage may have to copy data for, deletes for what it should delete.
	patience = 5 * time.Minute
	deletes  = 2 * time.Minute
	// uploads is for what goes to other storage. The time of the whole command ends it before.
	uploads = 24 * time.Hour
)

// Steps are those of a proof, in their order. Each one waits for what the one before it has left.
func (p *Proof) Steps() []*Step {
	all := []*Step{
		{Name: stepWrite, limit: patience, late: Unknown, next: func(p *Proof, s *Seen) Verdict { return p.writes(s, "write", data) }},
		{Name: stepCut, needs: []string{stepWrite}, limit: patience, late: Unknown, next: cut},
		{Name: stepReady, needs: []string{stepCut}, limit: uploads, late: Unknown, next: ready},
		{Name: stepRead, needs: []string{stepCut}, limit: patience, late: Unknown, next: readOriginal},
		{Name: stepRestore, needs: []string{stepReady, stepRead}, limit: patience, late: Unknown, next: restores("restored")},
		{Name: stepOnTime, needs: []string{stepRestore}, next: onTime},
		{Name: stepCopy, needs: []string{stepRestore}, limit: patience, late: Unknown, next: copies},
		{Name: stepAfterCopy, needs: []string{stepCopy}, limit: patience, late: Unknown, next: restoresAfterCopy},
		{Name: stepGone, needs: []string{stepRestore}, limit: deletes, late: Unknown, next: deletesVolume},
		{Name: stepRestoreGone, needs: []string{stepGone}, limit: patience, late: Unknown, next: restores("without-volume")},
		{Name: stepDelete, needs: []string{stepReady}, limit: deletes, late: Unknown, next: deletesSnapshot},
		{Name: stepCopyAlone, needs: []string{stepCopy, stepDelete}, limit: patience, late: Unknown, next: copyRemains},
	}
	if p.Groups {
		all = append(all,
			&Step{Name: stepGroupWrite, limit: patience, late: Unknown, next: func(p *Proof, s *Seen) Verdict {
				return p.writes(s, "group-write", together...)
			}},
			&Step{Name: stepGroupCut, needs: []string{stepGroupWrite}, limit: patience, late: Unknown, next: cutGroups},
			&Step{Name: stepInstant, needs: []string{stepGroupCut}, limit: uploads, late: Unknown, next: oneInstant})
	}
	if p.Limits {
		all = append(all, &Step{Name: stepLimits, limit: uploads, late: Unknown, next: takesMany})
	}
	return all
}

func cut(p *Proof, s *Seen) Verdict {
	v := s.Snapshots[first]
	switch {
	case v == nil:
		return Verdict{Do: []change.Change{{Create: p.newSnapshot(first, data)}}}
	case backup.Uncut(v):
		return refused(s, backup.DriverError(v), "VolumeSnapshot "+first+" is not cut yet")
	case backup.Of(v).CutTime.Year() <= 1970:
		return Verdict{State: OK, Words: "the driver gives a time of 1970: it may answer before it has cut"}
	}
	return Verdict{State: OK}
}

// refused waits, or fails with what a driver says of a snapshot for some time.
func refused(s *Seen, words, waits string) Verdict {
	if words != "" && s.Since > refuses {
		return Verdict{State: Failed, Words: words}
	}
	return Verdict{Words: cmp.Or(words, waits)}
}

// ready first has the writer leave its mark: that is surely written after the driver has said that the snapshot is cut.
func ready(_ *Proof, s *Seen) Verdict {
	v := s.Snapshots[first]
	switch pod := s.Pods["write"]; {
	case pod != nil && !backup.Terminating(pod):
		return Verdict{Do: []change.Change{{Delete: pod}}}
	case v == nil:
		return Verdict{State: Unknown, Words: "VolumeSnapshot " + first + " was deleted"}
	case backup.Ready(v):
		return Verdict{State: OK}
	}
	return refused(s, backup.DriverError(v), "VolumeSnapshot "+first+" is not ready yet")
}

func readOriginal(p *Proof, s *Seen) Verdict {
	if s.Pods["write"] != nil {
		return Verdict{Words: "pod write has not ended yet"}
	}
	v := p.reads(s, "read", []string{data})
	if v.State != OK {
		return v
	}
	is := p.read["read"][0]
	switch {
	case is.Sum != p.sumOf():
		return Verdict{State: Failed, Words: "the volume does not hold what was written into it"}
	case is.Wrong != "":
		return Verdict{State: Failed, Words: "the volume does not hold what was written into it: " + is.Wrong}
	}
	return Verdict{State: OK, Words: term.Plural(is.Records, "record")}
}

// restores is the step that restores the snapshot to a PVC, and reads that.
func restores(claim string) func(*Proof, *Seen) Verdict {
	return func(p *Proof, s *Seen) Verdict { return p.restore(s, claim) }
}

func (p *Proof) restore(s *Seen, claim string) Verdict {
	v := p.reads(s, "read-"+claim, []string{claim}, first)
	if v.State != OK {
		return v
	}
	return p.same("read-" + claim)
}

// same judges what a pod has read of a restored volume.
func (p *Proof) same(pod string) Verdict {
	is, original := p.read[pod][0], p.read["read"][0]
	switch {
	case is.Wrong != "":
		return Verdict{State: Failed, Words: "other bytes than were written: " + is.Wrong}
	case is.Sum != p.sumOf():
		return Verdict{State: Failed, Words: "other bytes than were written: the checksum differs"}
	case is.Records == 0 || is.Records > original.Records:
		return Verdict{State: Failed, Words: fmt.Sprintf("%s of %d, one of which was there before the cut",
			term.Plural(is.Records, "record"), original.Records)}
	}
	return Verdict{State: OK, Words: "sha256 equal"}
}

// onTime judges whether the snapshot holds what was written after the driver said that it was cut.
func onTime(p *Proof, _ *Seen) Verdict {
	is, original := p.read["read-restored"][0], p.read["read"][0]
	switch {
	case is.Mark:
		return Verdict{State: Failed, Words: "the snapshot holds what was written after the driver had said that it was cut"}
	case !original.Mark:
		return Verdict{State: Unknown, Words: "the writer ended before it had written its mark"}
	}
	return Verdict{State: OK, Words: fmt.Sprintf("%s before, %d after", term.Plural(is.Records, "record"), original.Records-is.Records)}
}

// copies makes a copy by a second content of the same handle, as the command restore does in another namespace.
func copies(p *Proof, s *Seen) Verdict {
	c := p.clone(s)
	if c == nil || c.Original.Content == nil {
		return Verdict{Words: "the VolumeSnapshotContent of " + first + " cannot be read yet"}
	}
	var do []change.Change
	for _, o := range c.Missing() {
		if _, is := o.(*snapshotv1.VolumeSnapshotContent); is {
			Mark(o, p.ID, s.Now)
		}
		do = append(do, change.Change{Create: o})
	}
	if len(do) > 0 {
		return Verdict{Do: do}
	}
	v := p.reads(s, "read-"+copied, []string{copied})
	if v.State != OK {
		return v
	}
	return p.same("read-" + copied)
}

// restoresAfterCopy removes what has lent the data to the copy, and restores the snapshot again.
func restoresAfterCopy(p *Proof, s *Seen) Verdict {
	if c := p.clone(s); c != nil {
		switch step := c.CleanUp(); {
		case len(step.Changes) > 0:
			return Verdict{Do: step.Changes}
		case step.Text != "":
			return Verdict{Words: step.Text}
		}
	}
	return p.restore(s, "after-copy")
}

func deletesVolume(p *Proof, s *Seen) Verdict {
	claim, volume := s.Claims[data], s.Volumes[s.VolumeOf[data]]
	switch {
	case claim != nil && !backup.Terminating(claim):
		return Verdict{Do: []change.Change{{Delete: claim}}}
	case claim != nil:
		return Verdict{Words: "PersistentVolumeClaim " + data + " has finalizers: " + strings.Join(claim.Finalizers, ", ")}
	case volume == nil:
		return Verdict{State: OK}
	case p.Retains:
		return Verdict{State: Unknown, Words: "PersistentVolume " + volume.Name + " has the policy Retain"}
	}
	said, _ := p.said(s, "PersistentVolume", volume.Name)
	return Verdict{Words: cmp.Or(said, "PersistentVolume "+volume.Name+" is not deleted")}
}

func deletesSnapshot(p *Proof, s *Seen) Verdict {
	v, content := s.Snapshots[first], s.Contents[s.ContentOf[first]]
	do := unrestored(s)
	switch {
	case len(do) > 0:
		return Verdict{Do: do}
	case v != nil && !backup.Terminating(v):
		return Verdict{Do: []change.Change{{Delete: v}}}
	case v != nil && Stuck(v):
		return Verdict{Do: []change.Change{Release(v)}}
	case v == nil && content == nil:
		return Verdict{State: OK}
	case v == nil && p.Retains:
		return Verdict{State: Unknown, Words: "VolumeSnapshotContent " + content.Name + " has the policy Retain"}
	case content == nil || p.Retains:
		return Verdict{Words: "VolumeSnapshot " + first + " has finalizers: " + strings.Join(v.Finalizers, ", ")}
	}
	p.refused = content.Name // which keeps the VolumeSnapshot, too
	said, _ := p.said(s, "VolumeSnapshotContent", content.Name)
	if said != "" && s.Since > retries {
		return Verdict{State: Unknown, Words: said}
	}
	return Verdict{Words: cmp.Or(said, "VolumeSnapshotContent "+content.Name+" is not deleted")}
}

// unrestored returns what deletes the PVCs that no volume came of, with their pods: as long as one waits, its snapshot cannot be deleted.
func unrestored(s *Seen) (do []change.Change) {
	for _, claim := range s.Claims {
		if claim.Status.Phase == corev1.ClaimBound {
			continue
		}
		if pod := s.Pods["read-"+claim.Name]; pod != nil && !backup.Terminating(pod) {
			do = append(do, change.Change{Delete: pod})
		}
		if !backup.Terminating(claim) {
			do = append(do, change.Change{Delete: claim})
		}
	}
	return do
}

// copyRemains reads the copy once the snapshot is gone. Where the storage keeps the snapshot as long as there are volumes made from it, it
// shows nothing: whether such a storage refuses the delete, or is slow, nothing says.
func copyRemains(p *Proof, s *Seen) Verdict {
	v := p.reads(s, "read-copy-again", []string{copied})
	if v.State != OK {
		return v
	}
	return p.same("read-copy-again")
}

// late says that something did not come in time.
func late(limit time.Duration, words string) string {
	return fmt.Sprintf("not within %s: %s", term.Span(limit), words)
}
