// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package core decides how the data of an earlier snapshot comes under the
// name of an existing PVC. It reads and writes nothing: Next returns the next
// step from what the cluster holds, so that a rollback that was interrupted is
// run again and finds its place.
//
//	rollback.go  what is observed, the table of stages, and Next
//	lock.go      which rollback is unfinished, and its lock
//	begin.go     who goes on with it, or begins one
//	record.go    the record on the restored volume, and which rollback it belongs to
//	refuse.go    what stops a rollback
//	prepare.go   steps 1 to 5: nothing is taken away
//	move.go      steps 6 to 10
//	holds.go     whose backup a snapshot or a group snapshot is, and what a rollback holds
//	build.go     the objects and patches of the steps
//	workload.go  the PVCs and the replicas of a workload
//	plan.go      the steps and the result in words
package core

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/internal/cli/change"
)

// State is what the cluster holds now, and what is asked for.
type State struct {
	Namespace string
	Now       time.Time
	// Began is when this run of the command began.
	Began  time.Time
	Claims []*Claim
	// Workload is nil if nothing has to be scaled.
	Workload *Workload
	// Pods are all of the namespace that have one of the PVCs as a volume, restored ones included.
	Pods []Pod
	// PVCs are those of the namespace, and Volumes the PersistentVolumes that they have or once
	// had, by name.
	PVCs    map[string]*corev1.PersistentVolumeClaim
	Volumes map[string]*corev1.PersistentVolume

	// NewID is the ID of the rollback if this run begins one, and User who runs it.
	NewID, User string
	// Undo is set to undo a rollback: the latest, or that of UndoID.
	Undo   bool
	UndoID string
	// TakeOver is set to go on with the rollback of another user.
	TakeOver bool
	// SkipSafety is set to take no snapshot of the present data.
	SkipSafety bool
	// Image is that of the pod for storage classes that wait for a consumer.
	Image string

	// Own is the lock that this run has, nil before it has one, and Released is set once it was taken off. Scaled is
	// true once this run has scaled the workload to zero.
	Own      *Lock
	Released bool
	Scaled   bool

	// lock is the rollback that this run goes on with, or begins; nil if there is nothing to do.
	lock *Lock
	// records are those of the namespace, by PVC and by the ID of the rollback.
	records map[string]map[string]*Record
}

// Lock returns the rollback that Next has gone on with, or begun; nil if there is nothing to do.
func (s *State) Lock() *Lock { return s.lock }

// Claim is a PVC that is rolled back.
type Claim struct {
	Name string
	// Target is the snapshot whose data it gets; nil to undo a rollback.
	Target *snapshotv1.VolumeSnapshot
	// Again is true if a PVC that was rolled back to the same snapshot is rolled back once more.
	Again bool
	// Manifest is the PVC that Target is restored to, or Unrestorable is why there is none.
	Manifest     *corev1.PersistentVolumeClaim
	Unrestorable error
	// WaitsForConsumer is true if its storage class binds a PVC when a pod uses it.
	WaitsForConsumer bool
	// Class is the VolumeSnapshotClass of the safety snapshot; nil: the default one. Full says why its storage
	// takes no further snapshot of the volume.
	Class *string
	Full  string

	// Snapshots are those of the PVC, whatever schedule they belong to, and Target; Groups the group snapshots
	// whose record names it. Safeties are the snapshots that rollbacks took of the data that they replaced.
	Snapshots []*snapshotv1.VolumeSnapshot
	Groups    []*groupv1.VolumeGroupSnapshot
	Safeties  []*snapshotv1.VolumeSnapshot

	// What find has found: pvc has the name now. restored is what a snapshot was restored to, until it is deleted.
	pvc, restored *corev1.PersistentVolumeClaim
	// target is the volume whose data the PVC gets, and record the one on it. Both are nil
	// until they exist.
	target *corev1.PersistentVolume
	record *Record
	// base is the record of the rollback that is undone; nil if that has not come so far.
	base *Record
	// stays is true if the rollback that is undone has not taken the PVC away: there is nothing to go back from.
	stays bool
	done  bool
}

// Pod is a pod that has one of the PVCs as a volume.
type Pod struct {
	Object *corev1.Pod
	// Owner is what controls it, a Deployment instead of its ReplicaSet; nil if nothing does.
	Owner *metav1.OwnerReference
}

// uses returns whether a pod has a PVC as a volume.
func (p Pod) uses(claim string) bool {
	for _, v := range p.Object.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim {
			return true
		}
	}
	return false
}

// Step is one of the ten steps, or a part of one.
type Step = change.Step

// Next returns the next step, or why the rollback stops. A step is done for all PVCs
// before the next one begins, and nothing is waited for while there is something to do for
// another PVC.
func Next(s *State) (Step, error) {
	if err := s.find(); err != nil || s.lock == nil || s.Released {
		return Step{}, err
	}
	if err := s.refuse(); err != nil {
		return Step{}, err
	}
	step, err := s.next()
	if err != nil || step == nil {
		return Step{}, err
	}
	step.Renewals = s.renewals(step)
	return *step, nil
}

// Same returns whether another state is of the same rollback, to the same snapshots.
func (s *State) Same(other *State) bool {
	a, b := s.lock, other.lock
	return a == b || a != nil && b != nil && a.ID == b.ID && a.Undo == b.Undo && slices.Equal(a.Claims, b.Claims)
}

// find finds which rollback it is, and how far it has come.
func (s *State) find() error {
	if err := s.ReadRecords(); err != nil {
		return err
	}
	for _, c := range s.Claims {
		if !validName(c.Name) {
			return fmt.Errorf("%q is not a valid name of a PersistentVolumeClaim", c.Name)
		}
		c.pvc, c.restored, c.target, c.record, c.base, c.stays, c.done = s.PVCs[c.Name], nil, nil, nil, nil, false, false
	}
	if err := s.begin(); err != nil || s.lock == nil {
		return err
	}
	for _, c := range s.Claims {
		if c.done {
			continue
		}
		if err := c.find(s); err != nil {
			return err
		}
	}
	return nil
}

// stage is a part of a step.
type stage struct {
	number int // of the step
	// moving leaves out a PVC that an undone rollback has not taken away.
	moving bool
	// do returns what is to be done for a PVC, or what is waited for; nil if the stage is done.
	do func(*State, *Claim) (*Step, error)
}

const moves, every = true, false

// Steps is how many steps a rollback has.
const Steps = 10

// stages follow each other: each is done for all PVCs before the next one begins. The numbers of steps are in the locks of rollbacks
// that another release has begun, so a new stage gets a number that exists.
var stages = []stage{
	{1, every, takeLock},
	{1, moves, awaitBinding}, // waits for the PVC that the undone rollback has created
	{1, moves, hold},
	{2, moves, takeSafety},    // waits until the snapshot of the present data is ready
	{3, moves, restoreTarget}, // waits for the volume with the data of the snapshot
	{3, moves, writeRecord},
	{3, every, closeBase},
	{4, moves, retain},
	{4, moves, holdOn},
	{5, moves, awaitSnapshots}, // waits for snapshots that would keep the PVC from being deleted
	{5, moves, scaleDown},      // the outage begins
	{5, moves, awaitPods},      // waits until no pod uses the PVC
	{6, every, deleteRestored}, // waits until the restored PVC lets go of the volume
	{6, every, unreserve},
	{6, moves, reserve},
	{6, moves, deleteOld}, // waits until it is gone
	{7, moves, completeClaim},
	{7, moves, createClaim}, // waits until it is bound to the volume
	{8, moves, carryOver},
	{8, moves, include},
	{9, every, giveBack},
	{9, every, dropSafeties},
	{9, every, dropRestored}, // waits until the restored PVC is gone
	{9, every, unhold},
	{Steps, every, scaleUp}, // the outage ends
	{Steps, moves, finish},
	{Steps, every, releaseLock},
}

// next returns the next step; nil if there is none.
func (s *State) next() (*Step, error) {
	for _, stage := range stages {
		var waits *Step // for one PVC, while there is something to do for another
		for _, c := range s.Claims {
			if c.done || c.stays && stage.moving {
				continue
			}
			step, err := stage.do(s, c)
			if step != nil {
				step.Number = stage.number
			}
			if err != nil || step != nil && len(step.Changes) > 0 {
				return step, err
			}
			waits = cmp.Or(waits, step)
		}
		if waits != nil {
			return waits, nil
		}
	}
	return nil, nil
}
