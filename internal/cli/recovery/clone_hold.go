// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"encoding/json"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/holders"
)

const (
	// HoldFor is how long the original is held for a copy. A hold that ends within renewAt is renewed.
	HoldFor = 24 * time.Hour
	renewAt = 12 * time.Hour

	// beingDeleted is the annotation by which the snapshot controller tells the driver's sidecar that a content's snapshot is deleted.
	beingDeleted = "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted"
)

// hold returns a patch that holds the original for this copy; nil if it is held long enough.
func (c *Clone) hold(now time.Time) ([]byte, error) {
	v := c.Original.Snapshot
	h := holders.Of(v)
	if h.Until(c.Name).Sub(now) > renewAt && h.Changes(v) == nil { // else somebody has changed the hold
		return nil, nil
	}
	h, err := h.With(c.Name, now.Add(HoldFor), now)
	if err != nil {
		return nil, refusal(v, err)
	}
	return annotations(v, h.Changes(v)), nil
}

// unhold returns a patch that ends the hold for this copy; nil if there is none.
func (c *Clone) unhold() []byte {
	v := c.Original.Snapshot
	if v == nil || v.DeletionTimestamp != nil {
		return nil
	}
	h := holders.Of(v)
	if h.Until(c.Name).IsZero() {
		return nil
	}
	return annotations(v, h.Without(c.Name).Changes(v))
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
