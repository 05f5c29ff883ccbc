// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Recording is the part of a status on which decisions depend.
type Recording struct {
	// Field is the field of the status. It is written also while nothing else is known.
	Field string
	// IsDue returns whether the status is about to record a time on which decisions depend. It is
	// then computed with the API server's time, in the Summary. Required with Field.
	IsDue func(now time.Time, parent client.Object, s Summary) bool
	// Ensure changes the Field of a parent to what it must say whatever the spec is. That is written alone where the
	// parent changes too often for a status of one version. Nil: it must say nothing.
	Ensure func(parent client.Object)
}

// ensureRecord writes what the record of a parent must say whatever the spec is, after a status was not written
// because the parent had changed. It is held to the UID and the record of a live version, not to the version: otherwise
// whoever changes a parent again and again keeps the record from being written. Nothing else of the status is.
func (w *Writer) ensureRecord(ctx context.Context, cached client.Object) error {
	if _, patch, err := w.recordPatch(cached); patch == nil || err != nil {
		return err
	}
	live := plan.EmptyLike(cached)
	if err := w.Live.Get(ctx, client.ObjectKeyFromObject(cached), live); err != nil {
		return client.IgnoreNotFound(err)
	}
	changed, patch, err := w.recordPatch(live)
	if patch == nil || err != nil || live.GetUID() != cached.GetUID() {
		return err
	}
	err = w.Client.Status().Patch(ctx, changed, client.RawPatch(types.JSONPatchType, patch))
	if apierrors.IsInvalid(err) || apierrors.IsConflict(err) { // somebody else wrote a record meanwhile
		return nil
	}
	return client.IgnoreNotFound(err)
}

// recordPatch returns the JSON patch that writes what a parent's record lacks, and the parent with it; nil if it lacks
// nothing.
func (w *Writer) recordPatch(parent client.Object) (changed client.Object, patch []byte, err error) {
	if w.Recording.Ensure == nil {
		return nil, nil, nil
	}
	changed = parent.DeepCopyObject().(client.Object)
	w.Recording.Ensure(changed)
	var before, after struct{ Status map[string]any }
	if err = plan.Fields(parent, &before); err == nil {
		err = plan.Fields(changed, &after)
	}
	old, record := before.Status[w.Recording.Field], after.Status[w.Recording.Field]
	if err != nil || equality.Semantic.DeepEqual(old, record) {
		return nil, nil, err
	}
	patch, err = json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": parent.GetUID()},
		{"op": "test", "path": "/status/" + w.Recording.Field, "value": old},
		{"op": "add", "path": "/status/" + w.Recording.Field, "value": record},
	})
	return changed, patch, err
}
