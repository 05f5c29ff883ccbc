/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
