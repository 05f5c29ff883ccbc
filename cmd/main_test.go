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
		want []string // none: an error
	}{
		"one":                    {"team-a", []string{"team-a"}},
		"several, with spaces":   {"team-a, team-b", []string{"team-a", "team-b"}},
		"one of them twice":      {"team-a,team-b,team-a", []string{"team-a", "team-b"}},
		"an empty variable":      {"", nil},
		"a comma too many":       {"team-a,", nil},
		"a pattern":              {"team-*", nil},
		"a variable by its name": {"$(POD_NAMESPACE)", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseNamespaces(tc.list)
			if !slices.Equal(got, tc.want) || (err == nil) != (tc.want != nil) {
				t.Errorf("got %q, error %v, want %q", got, err, tc.want)
			}
		})
	}
}
