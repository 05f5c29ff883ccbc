// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// The fields of a status that the engine knows of.
const conditionsField, inputsField, outputsField, detachedField = "conditions", "inputs", "outputs", "detached"

// patch writes what changed of a status, and only what is known. It is held to the cached
// version: on another one it would make a status that nobody computed. The event of a
// newer version wakes the parent again.
func (w *Writer) patch(ctx context.Context, before, after client.Object, s Summary) error {
	data, err := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}).Data(after)
	if err != nil {
		return err
	}
	var patch map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return err
	}
	var has struct{ Status map[string]any }
	if err := plan.Fields(after, &has); err != nil {
		return err
	}
	status, _ := patch["status"].(map[string]any)
	patch["status"] = w.known(status, has.Status[outputsField], s)
	if data, err = json.Marshal(patch); err != nil {
		return err
	}
	return w.Client.Status().Patch(ctx, after, client.RawPatch(types.MergePatchType, data))
}

// known leaves in a patch what may be said. The outputs are written as a whole, or not at
// all: a type does not tell a count that is zero from one that was never written, so
// the difference between two versions would omit it. Those that are not known under an
// invalid spec are removed, because nobody may take old ones for the present ones. So are
// all counts that are refused: where inputs are absent, nothing is counted.
func (w *Writer) known(patch map[string]any, outputs any, s Summary) map[string]any {
	known := maps.Clone(patch)
	if s.Refused || s.Totals == nil && s.Invalid == nil {
		maps.DeleteFunc(known, func(field string, _ any) bool { return field != conditionsField && field != w.Recording.Field })
	}
	switch {
	case s.Refused:
		known[inputsField], known[outputsField] = nil, nil
	case s.Totals == nil && s.Invalid != nil:
		known[outputsField] = nil
	case s.Totals == nil: // what the API server has stays
	case outputs != nil:
		known[outputsField] = withRemovals(known[outputsField], outputs)
	}
	return known
}

// withRemovals returns a value as a whole, as a merge patch: what a patch removes of the one before is removed.
func withRemovals(patch, whole any) any {
	removed, isMap := patch.(map[string]any)
	fields, ok := whole.(map[string]any)
	if !isMap || !ok {
		return whole
	}
	all := maps.Clone(fields)
	for field, value := range removed {
		if _, has := fields[field]; has {
			all[field] = withRemovals(value, fields[field])
		} else {
			all[field] = value
		}
	}
	return all
}
