// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"encoding/json"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

const (
	// HoldFor is how long the original is held. A hold that ends within renewAt is renewed.
	HoldFor = 24 * time.Hour
	renewAt = 12 * time.Hour

	// beingDeleted is the annotation by which the snapshot controller tells the driver's sidecar that a content's snapshot is deleted.
	beingDeleted = "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted"
)

// holdRecord says of the original's hold that it was set for copies.
type holdRecord struct {
	// Hold is what was set, and Before what somebody else had set before.
	Hold   string  `json:"hold"`
	Before *string `json:"before,omitempty"`
	// Copies are the names of those that need the hold.
	Copies []string `json:"copies"`
}

// readHold returns the record, and whether the hold is still the one that was set for copies.
func readHold(v *snapshotv1.VolumeSnapshot) (r holdRecord, ours bool) {
	if err := json.Unmarshal([]byte(v.Annotations[v1alpha1.AnnotationHoldForCopies]), &r); err != nil {
		return holdRecord{}, false
	}
	hold, held := v.Annotations[v1alpha1.AnnotationHold]
	return r, held && hold == r.Hold
}

// hold returns a patch that holds the original for this copy; nil if it is held long enough.
func (c *Clone) hold(now time.Time) []byte {
	v := c.Original.Snapshot
	end, held := snapshots.HeldUntil(v)
	record, ours := readHold(v)
	switch {
	case ours && slices.Contains(record.Copies, c.Name) && end.Sub(now) > renewAt:
		return nil
	case !ours && held && end.Sub(now) >= HoldFor: // somebody else's, who may end it: each step reads it again
		return nil
	case !ours:
		record = holdRecord{}
		if text, ok := v.Annotations[v1alpha1.AnnotationHold]; ok {
			record.Before = &text
		}
	}
	record.Hold = now.Add(HoldFor).UTC().Format(time.RFC3339)
	if !slices.Contains(record.Copies, c.Name) {
		record.Copies = append(record.Copies, c.Name)
	}
	text, err := json.Marshal(record)
	if err != nil {
		panic(err) // texts only
	}
	return annotations(v, map[string]any{v1alpha1.AnnotationHold: record.Hold, v1alpha1.AnnotationHoldForCopies: string(text)})
}

// unhold returns a patch that ends the hold with the last copy; nil if none was set for this one.
func (c *Clone) unhold() []byte {
	v := c.Original.Snapshot
	if v == nil || v.DeletionTimestamp != nil {
		return nil
	}
	record, ours := readHold(v)
	i := slices.Index(record.Copies, c.Name)
	if i < 0 {
		return nil
	}
	record.Copies = slices.Delete(record.Copies, i, i+1)
	changes := map[string]any{v1alpha1.AnnotationHoldForCopies: nil}
	switch {
	case len(record.Copies) > 0:
		text, err := json.Marshal(record)
		if err != nil {
			panic(err) // texts only
		}
		changes[v1alpha1.AnnotationHoldForCopies] = string(text)
	case ours && record.Before != nil:
		changes[v1alpha1.AnnotationHold] = *record.Before
	case ours:
		changes[v1alpha1.AnnotationHold] = nil
	}
	return annotations(v, changes)
}

// annotations is a merge patch that fails if the object has changed.
func annotations(o client.Object, changes map[string]any) []byte {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": o.GetResourceVersion(), "annotations": changes,
	}})
	if err != nil {
		panic(err) // texts only
	}
	return text
}
