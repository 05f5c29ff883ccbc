// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

func TestParseNamespaces(t *testing.T) {
	for name, tc := range map[string]struct {
		list string
		want []string // nil: an error
	}{
		"one":                        {"team-a", []string{"team-a"}},
		"several, with spaces":       {"team-a, team-b", []string{"team-a", "team-b"}},
		"removes duplicates":         {"team-a,team-b,team-a", []string{"team-a", "team-b"}},
		"rejects an empty list":      {"", nil},
		"rejects a trailing comma":   {"team-a,", nil},
		"rejects a pattern":          {"team-*", nil},
		"rejects an unset expansion": {"$(POD_NAMESPACE)", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseNamespaces(tc.list)
			if !slices.Equal(got, tc.want) || (err == nil) != (tc.want != nil) {
				t.Errorf("got %q, error %v, want %q", got, err, tc.want)
			}
		})
	}
}
