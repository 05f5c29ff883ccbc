// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollback decides how the data of an earlier snapshot comes under the
// name of an existing PVC. It reads and writes nothing: Next returns the next
// step from what the cluster holds, so that a rollback that was interrupted is
// run again and finds its place.
//
//	rollback.go  what is observed, and Next
//	record.go    the record on the restored volume, and which rollback it belongs to
//	refuse.go    what stops a rollback
//	steps.go     the ten steps
//	series.go    whose backup a snapshot or a group snapshot is, and which of them a rollback holds
//	build.go     the objects and patches of the steps
//	plan.go      the steps and the result in words
package rollback

import (
	"cmp"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// State is what the cluster holds now.
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
	// Scaled is true once this run has scaled the workload to zero.
	Scaled bool
	// Image is that of the pod for storage classes that wait for a consumer.
	Image string
}

// Claim is a PVC that is rolled back.
type Claim struct {
	Name string
	// Target is the snapshot whose data it gets; nil to undo its last rollback.
	Target *snapshotv1.VolumeSnapshot
	// Again is true if a PVC that was rolled back to the same snapshot is rolled back once more.
	Again bool
	// Manifest is the PVC that Target is restored to, or Unrestorable is why there is none.
	Manifest     *corev1.PersistentVolumeClaim
	Unrestorable error
	// WaitsForConsumer is true if its storage class binds a PVC when a pod uses it.
	WaitsForConsumer bool
	// Schedule is the schedule that the safety snapshot belongs to; empty if none selects the PVC.
	Schedule string
	// Class is the VolumeSnapshotClass of the safety snapshot; nil: the default one.
	Class *string

	// Snapshots are those of the PVC, whatever schedule they belong to, and Target; Groups the group snapshots
	// whose record names it.
	Snapshots []*snapshotv1.VolumeSnapshot
	Groups    []*groupv1.VolumeGroupSnapshot

	found
}

// Pod is a pod that has one of the PVCs as a volume.
type Pod struct {
	*corev1.Pod
	// Owner is what controls it, a Deployment instead of its ReplicaSet; nil if nothing does.
	Owner *metav1.OwnerReference
}

// uses returns whether a pod has a PVC as a volume.
func (p Pod) uses(claim string) bool {
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim {
			return true
		}
	}
	return false
}

// Workload is a Deployment or a StatefulSet.
type Workload struct {
	Object   client.Object
	Kind     string
	Replicas int32
	Template *corev1.PodTemplateSpec
}

// NewWorkload returns a Deployment or a StatefulSet as a workload.
func NewWorkload(o client.Object) *Workload {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return &Workload{Object: o, Kind: "Deployment", Replicas: ptr.Deref(o.Spec.Replicas, 1), Template: &o.Spec.Template}
	case *appsv1.StatefulSet:
		return &Workload{Object: o, Kind: "StatefulSet", Replicas: ptr.Deref(o.Spec.Replicas, 1), Template: &o.Spec.Template}
	}
	return nil
}

// claimTemplates and firstOrdinal are those of a StatefulSet.
func (w *Workload) claimTemplates() (names []string) {
	if set, ok := w.Object.(*appsv1.StatefulSet); ok {
		for i := range set.Spec.VolumeClaimTemplates {
			names = append(names, set.Spec.VolumeClaimTemplates[i].Name)
		}
	}
	return names
}

func (w *Workload) firstOrdinal() int32 {
	if set, ok := w.Object.(*appsv1.StatefulSet); ok && set.Spec.Ordinals != nil {
		return set.Spec.Ordinals.Start
	}
	return 0
}

// Name returns the workload as kubectl names it, such as statefulset/db.
func (w *Workload) Name() string { return strings.ToLower(w.Kind) + "/" + w.Object.GetName() }

// Step is one of the ten steps, or a part of one.
type Step struct {
	// Number is that of the step, from 1; zero if the rollback is finished.
	Number int
	// Text says what is done, or what is waited for.
	Text string
	// Changes are independent of each other. Without any, the step is to wait.
	Changes []Change
	// For is what is waited for, whose events explain why; may be nil.
	For client.Object
	// Scales is true if the workload is scaled to zero.
	Scales bool
}

// Change is one request: a create, a delete with the object's UID as a precondition,
// or a merge patch with its resourceVersion.
type Change struct {
	Create, Delete, Object client.Object
	Patch                  []byte
}

// Next returns the next step, or why the rollback stops. A step is done for all PVCs
// before the next one begins, and nothing is waited for while there is something to do for
// another PVC.
func Next(s *State) (Step, error) {
	for _, c := range s.Claims {
		if err := c.find(s); err != nil {
			return Step{}, err
		}
	}
	if err := s.refuse(); err != nil {
		return Step{}, err
	}
	stages := []func(*State, *Claim) (*Step, error){
		beginUndo, hold, takeSafety, restoreTarget, writeRecord, closeOthers, retain, scaleDown, awaitPods,
		deleteRestored, reserve, deleteOld, createClaim, completeClaim, carryOver, dropRestored, unhold, giveBack, scaleUp, finish,
	}
	for _, stage := range stages {
		var waits *Step // for one PVC, while there is something to do for another
		for _, c := range s.Claims {
			if c.done {
				continue
			}
			step, err := stage(s, c)
			if err != nil || step != nil && len(step.Changes) > 0 {
				return ptr.Deref(step, Step{}), err
			}
			waits = cmp.Or(waits, step)
		}
		if waits != nil {
			return *waits, nil
		}
	}
	return Step{}, nil
}
