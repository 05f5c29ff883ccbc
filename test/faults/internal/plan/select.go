// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
)

// Choose returns the plans of the given classes and IDs, at most limit(class) of
// each class. No classes, no IDs and a limit of 0 choose everything.
func Choose(all []Plan, classes []Class, ids []string, limit func(Class) int) []Plan {
	var chosen []Plan
	for _, class := range Classes {
		if len(classes) > 0 && !slices.Contains(classes, class) {
			continue
		}
		var ofClass []Plan
		for _, p := range all {
			if p.Class == class && Matches(ids, p.ID) {
				ofClass = append(ofClass, p)
			}
		}
		chosen = append(chosen, Spread(ofClass, limit(class))...)
	}
	return chosen
}

// Matches reports whether a pattern matches an ID, or there are no patterns. In a
// pattern, * stands for any text.
func Matches(patterns []string, id string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		parts := strings.Split(pattern, "*")
		rest, ok := strings.CutPrefix(id, parts[0])
		if len(parts) == 1 || !ok {
			return ok && rest == ""
		}
		for _, part := range parts[1 : len(parts)-1] {
			if _, rest, ok = strings.Cut(rest, part); !ok {
				return false
			}
		}
		return strings.HasSuffix(rest, parts[len(parts)-1])
	})
}

// Spread returns at most limit elements, evenly spread; 0 means all.
func Spread[T any](all []T, limit int) []T {
	if limit <= 0 || len(all) <= limit {
		return all
	}
	kept := make([]T, limit)
	for i := range kept {
		kept[i] = all[i*len(all)/limit]
	}
	return kept
}
