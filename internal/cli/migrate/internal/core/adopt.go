// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package core converts the schedules of snapscheduler
// (https://github.com/backube/snapscheduler), and decides which of its snapshots a
// SnapshotSchedule can adopt. It reads and writes nothing.
package core

import (
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
)

// State is what the cluster holds of a schedule of snapscheduler, and what it becomes.
type State struct {
	Peer *unstructured.Unstructured
	To   Conversion
	// Exists is whether there is a SnapshotSchedule of the name.
	Exists bool
	// Snapshots are those that snapscheduler finds for the schedule, and Claims the PVCs of its namespace by name.
	Snapshots []snapshotv1.VolumeSnapshot
	Claims    map[string]*corev1.PersistentVolumeClaim
}

// Note is what stays of a snapshot as it was, or differs. Its text follows the name.
type Note struct{ Snapshot, Text string }

// Plan returns all steps that are left: disable the schedule, hand over its snapshots, create the SnapshotSchedule. In this order, no
// operator takes or deletes snapshots twice wherever it is interrupted.
func Plan(s *State) (steps []change.Step, notes []Note) {
	if patch := Disable(s.Peer); patch != nil {
		steps = append(steps, change.Write("disable it", change.Change{Object: s.Peer, Patch: patch}))
	}
	for i := range s.Snapshots {
		v := &s.Snapshots[i]
		a := Adopt(v, s.Claims[backup.ClaimName(v)])
		if a.Patch == nil {
			notes = append(notes, Note{v.Name, " stays with snapscheduler: " + a.Reason})
			continue
		}
		steps = append(steps, change.Write("hand over VolumeSnapshot "+v.Name, change.Change{Object: v, Patch: a.Patch}))
		if a.Note != "" {
			notes = append(notes, Note{v.Name, ": " + a.Note})
		}
	}
	if !s.Exists {
		steps = append(steps, change.Write("create SnapshotSchedule "+s.To.Schedule.Name, change.Change{Create: s.To.Schedule.DeepCopy()}))
	}
	return steps, notes
}

// whenTolerance is how much later than its creation a snapshot's slot may be: clocks
// of two machines differ.
const whenTolerance = time.Minute

// Adoption is what becomes of a snapshot of snapscheduler.
type Adoption struct {
	// Patch is a merge patch after which a SnapshotSchedule adopts the snapshot, and
	// snapscheduler does not find it any more. It is nil if there is a Reason.
	Patch []byte
	// Reason is why the snapshot stays as it is.
	Reason string
	// Note is what the patch leaves out.
	Note string
}

// Adopt decides about a snapshot of snapscheduler. claim is the PVC that has the name
// of the snapshot's source now, or nil.
func Adopt(v *snapshotv1.VolumeSnapshot, claim *corev1.PersistentVolumeClaim) Adoption {
	name := backup.ClaimName(v)
	switch owner := metav1.GetControllerOf(v); {
	case owner != nil:
		return Adoption{Reason: fmt.Sprintf("%s %s controls it", owner.Kind, owner.Name)}
	case backup.GroupMember(v):
		return Adoption{Reason: "it is a member of a VolumeGroupSnapshot"}
	case v.DeletionTimestamp != nil:
		return Adoption{Reason: "it is being deleted"}
	case name == "":
		return Adoption{Reason: "it was made from an existing content, so its PVC is unknown"}
	case claim == nil:
		return Adoption{Reason: fmt.Sprintf("its PVC %s is gone, and with it the UID that would be the map key", name)}
	case claim.CreationTimestamp.After(v.CreationTimestamp.Time):
		return Adoption{Reason: fmt.Sprintf("its PVC %s is gone: the one with that name now is younger", name)}
	}
	annotations := map[string]any{LabelPeerSchedule: v.Labels[LabelPeerSchedule]}
	var a Adoption
	if slot, err := slotOf(v); err != nil {
		a.Note = fmt.Sprintf("no %s: %s; its creationTimestamp counts", v1alpha1.AnnotationScheduledAt, err)
	} else {
		annotations[v1alpha1.AnnotationScheduledAt] = slot.Format(time.RFC3339)
	}
	metadata := map[string]any{
		"labels": map[string]any{
			v1alpha1.LabelMapKey:   string(claim.UID),
			v1alpha1.LabelSchedule: v.Labels[LabelPeerSchedule],
			LabelPeerSchedule:      nil,
		},
		"annotations": annotations,
	}
	if kept, removed := withoutPeer(v.OwnerReferences); removed {
		metadata["ownerReferences"] = kept
	}
	a.Patch = change.Merge(v, metadata, nil)
	return a
}

// slotOf returns the slot that snapscheduler took a snapshot for.
func slotOf(v *snapshotv1.VolumeSnapshot) (time.Time, error) {
	when, ok := v.Labels[labelPeerWhen]
	if !ok {
		return time.Time{}, fmt.Errorf("it has no label %s", labelPeerWhen)
	}
	slot, err := time.Parse(peerWhen, when)
	if err != nil {
		return time.Time{}, fmt.Errorf("its label %s is %q, not a time such as 202601311200", labelPeerWhen, when)
	}
	if slot.After(v.CreationTimestamp.Add(whenTolerance)) {
		return time.Time{}, fmt.Errorf("its label %s is %q, later than its creation", labelPeerWhen, when)
	}
	return slot, nil
}

// withoutPeer removes references to schedules of snapscheduler, whose deletion would
// delete the snapshot.
func withoutPeer(owners []metav1.OwnerReference) (kept []metav1.OwnerReference, removed bool) {
	kept = []metav1.OwnerReference{}
	for _, owner := range owners {
		group, err := schema.ParseGroupVersion(owner.APIVersion)
		if err == nil && group.Group == PeerKind.Group && owner.Kind == PeerKind.Kind {
			removed = true
			continue
		}
		kept = append(kept, owner)
	}
	return kept, removed
}

// PeerKind is the kind of snapscheduler's schedules.
var PeerKind = schema.GroupVersionKind{Group: "snapscheduler.backube", Version: "v1", Kind: "SnapshotSchedule"}

const (
	// PeerResource is the full name of snapscheduler's schedules for kubectl. Ours have
	// the same plural.
	PeerResource = "snapshotschedules.snapscheduler.backube"
	// LabelPeerSchedule is the label by which snapscheduler finds the snapshots of a
	// schedule, and expires them. A migrated snapshot has it as an annotation.
	LabelPeerSchedule = "snapscheduler.backube/schedule"
	// labelPeerWhen is the slot of a snapshot of snapscheduler, in UTC.
	labelPeerWhen = "snapscheduler.backube/when"
	peerWhen      = "200601021504"

	// annotationWasEnabled is set on a schedule of snapscheduler that a migration has
	// disabled. Without it, a migration that was interrupted and runs again would take
	// the schedule for one that its user had disabled, and suspend ours.
	annotationWasEnabled = v1alpha1.Prefix + "disabled-by-migration"
)

// disabled returns whether the user of a schedule of snapscheduler has disabled it.
func disabled(peer *unstructured.Unstructured) bool {
	is, _, _ := unstructured.NestedBool(peer.Object, "spec", "disabled")
	return is && peer.GetAnnotations()[annotationWasEnabled] == ""
}

// Disable returns the merge patch that disables a schedule of snapscheduler; nil if
// it is disabled.
func Disable(peer *unstructured.Unstructured) []byte {
	if is, _, _ := unstructured.NestedBool(peer.Object, "spec", "disabled"); is {
		return nil
	}
	return change.Merge(peer, map[string]any{"annotations": map[string]any{annotationWasEnabled: "true"}}, map[string]any{"disabled": true})
}
