// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"time"

	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/holders"
)

const (
	// HoldFor is how long the original is held for a copy. A hold that ends within renewAt is renewed.
	HoldFor = 24 * time.Hour
	renewAt = 12 * time.Hour

	// beingDeleted is the annotation by which the snapshot controller tells the driver's sidecar that a content's snapshot is deleted.
	beingDeleted = "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted"
)

// hold returns the change that holds the original for this copy; nil if it is held long enough.
func (c *Clone) hold(now time.Time) (*change.Change, error) {
	v := c.Original.Snapshot
	h := holders.Of(v)
	if h.Until(c.Name).Sub(now) > renewAt && h.Changes(v) == nil { // else somebody has changed the hold
		return nil, nil
	}
	h, err := h.With(c.Name, now.Add(HoldFor), now)
	if err != nil {
		return nil, refusal(v, err)
	}
	return ptr.To(change.Annotate(v, h.Changes(v))), nil
}

// unhold returns the change that ends the hold for this copy; nil if there is none.
func (c *Clone) unhold() *change.Change {
	v := c.Original.Snapshot
	if v == nil || v.DeletionTimestamp != nil {
		return nil
	}
	h := holders.Of(v)
	if h.Until(c.Name).IsZero() {
		return nil
	}
	return ptr.To(change.Annotate(v, h.Without(c.Name).Changes(v)))
}
