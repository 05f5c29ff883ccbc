// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
)

// fieldChanges compares two specs, field by field. A list is compared as a whole.
func fieldChanges(before, after map[string]any) (changes []ahead.FieldChange) {
	old, changed := map[string]any{}, map[string]any{}
	flatten(old, "spec", before)
	flatten(changed, "spec", after)
	for _, field := range slices.Sorted(maps.Keys(merged(old, changed))) {
		if !equality.Semantic.DeepEqual(old[field], changed[field]) {
			changes = append(changes, ahead.FieldChange{Field: field, Before: valueText(old[field]), After: valueText(changed[field])})
		}
	}
	return changes
}

// flatten adds the fields of an object under their paths. An empty object is a value: it may mean another thing than none.
func flatten(into map[string]any, path string, value any) {
	object, ok := value.(map[string]any)
	if !ok || len(object) == 0 && path != "spec" {
		into[path] = value
		return
	}
	for field, inner := range object {
		flatten(into, path+"."+field, inner)
	}
}

func valueText(value any) string {
	if value == nil {
		return ""
	}
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// printFields prints changed fields as a diff.
func printFields(w io.Writer, style term.Style, changes []ahead.FieldChange) {
	for _, c := range changes {
		if c.Before != "" {
			term.Say(w, style.Bad("  - "+c.Field+": "+c.Before))
		}
		if c.After != "" {
			term.Say(w, style.Good("  + "+c.Field+": "+c.After))
		}
	}
}
