// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package core decides what a proof of the storage does next, and what it has shown. It writes nothing, and reads only the volumes of
// its own pods.
//
//	proof.go    a proof, and what it takes from the cluster to decide
//	steps.go    the table of steps, and what each of them shows
//	groups.go   the steps of group snapshots
//	limits.go   how many snapshots a volume takes
//	objects.go  the PVCs, pods and snapshots of a proof
//	left.go     what belongs to a proof, and whether it still runs
//	data.go     what its pods write and read
package core

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
)

// State is how a step ended; empty while it runs.
type State string

// What a step has shown.
const (
	OK      State = "ok"
	Failed  State = "failed"
	Unknown State = "unknown"
)

// Row is a step that has ended.
type Row struct {
	Step  string `json:"step"`
	State State  `json:"state"`
	Took  string `json:"took,omitempty"`
	Words string `json:"words,omitempty"`
}

// Proof is one run.
type Proof struct {
	// ID is that of the run, and the seed of its data.
	ID, Image, StorageClass string
	// Provisioner is the driver of the StorageClass.
	Provisioner string
	// AsUser is false where the namespace's own rules choose the user of pods.
	AsUser bool
	// Retains is set if the classes keep what is deleted.
	Retains bool
	// Groups and Limits are wanted, too. Pending is how many snapshots may be in progress at once; zero: any number.
	Groups, Limits bool
	Pending        int

	Rows []Row
	// read is what the pods have read, by their names and the volumes in their order.
	read   map[string][]Reading
	limits taken
	sum    string
	// refused is the content of the snapshot while the storage does not delete it.
	refused string
	// cuts is how many group snapshots are cut, and nextCut when the next one may be taken.
	cuts    int
	nextCut time.Duration
}

// Seen is what there is of a proof, by name.
type Seen struct {
	Now time.Time
	// Since is how long the step has run.
	Since     time.Duration
	Pods      map[string]*corev1.Pod
	Claims    map[string]*corev1.PersistentVolumeClaim
	Snapshots map[string]*snapshotv1.VolumeSnapshot
	Groups    map[string]*groupv1.VolumeGroupSnapshot
	// Contents and Volumes are those of the snapshots and PVCs that are there, or were. ContentOf and VolumeOf are their names.
	Contents            map[string]*snapshotv1.VolumeSnapshotContent
	Volumes             map[string]*corev1.PersistentVolume
	ContentOf, VolumeOf map[string]string
	// Events are those about all of them, if they may be read.
	Events []corev1.Event
}

// Verdict is what a step does next, or how it has ended.
type Verdict struct {
	// State is empty while the step runs: it has something to do, or waits.
	State State
	// Words are what it has shown, or what it waits for.
	Words string
	Do    []change.Change
}

// Next decides about a step.
func (p *Proof) Next(step *Step, s *Seen) Verdict {
	for _, name := range step.needs {
		if p.state(name) != OK {
			return Verdict{State: Unknown, Words: "not tried, because of: " + name}
		}
	}
	v := step.next(p, s)
	if v.State == "" && len(v.Do) == 0 && s.Since > step.limit {
		v.State = step.late
		v.Words = late(step.limit, v.Words)
	}
	return v
}

// End notes how a step has ended.
func (p *Proof) End(step *Step, v Verdict, took string) {
	p.Rows = append(p.Rows, Row{Step: step.Name, State: v.State, Took: took, Words: v.Words})
}

// Refused returns the name of the content that the storage did not delete in time, or refused to delete; empty: it has deleted it.
func (p *Proof) Refused() string {
	if p.state(stepDelete) == OK {
		return ""
	}
	return p.refused
}

// Settle notes, after both steps, whether that content stays when nothing is left that was made from it.
func (p *Proof) Settle(stays bool) {
	for i := range p.Rows {
		switch row := &p.Rows[i]; {
		case row.Step != stepDelete:
		case stays:
			row.State = Failed
		default:
			row.State, row.Words = OK, "it went after all volumes made from it; before: "+row.Words
		}
	}
}

func (p *Proof) state(step string) State {
	if i := slices.IndexFunc(p.Rows, func(r Row) bool { return r.Step == step }); i >= 0 {
		return p.Rows[i].State
	}
	return ""
}

// sumOf returns the SHA-256 of the known bytes.
func (p *Proof) sumOf() string {
	if p.sum == "" {
		p.sum = SumOf(p.ID)
	}
	return p.sum
}

// Facts are what was shown, or refuted, of what commands rely on. A copy has survived if volume and snapshot were gone when it was read.
func (p *Proof) Facts() map[string]bool {
	facts := map[string]bool{}
	for fact, steps := range map[string][]string{
		drivers.FactCopies: {stepRestore, stepCopy, stepAfterCopy, stepCopyAlone}, drivers.FactGroups: {stepInstant},
	} {
		is := func(state State) func(string) bool {
			return func(step string) bool { return p.state(step) == state }
		}
		switch {
		case slices.ContainsFunc(steps, is(Failed)):
			facts[fact] = false
		case fact == drivers.FactCopies && p.state(stepGone) != OK:
		case !slices.ContainsFunc(steps, func(step string) bool { return p.state(step) != OK }):
			facts[fact] = true
		}
	}
	return facts
}
