// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"slices"
	"strings"
	"testing"
)

func TestFlagsThatMakeNoSenseAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string // contained in the error; empty: none
	}{
		"defaults":                   {},
		"no limits":                  {args: []string{"--max-deletes-per-second=0", "--max-in-flight-per-driver=0"}},
		"no worker":                  {args: []string{"--max-concurrent-reconciles=0"}, want: "--max-concurrent-reconciles must be greater than 0"},
		"no time between statuses":   {args: []string{"--status-interval=0"}, want: "--status-interval must be greater than 0"},
		"no clock skew":              {args: []string{"--max-clock-skew=0"}, want: "--max-clock-skew must be greater than 0"},
		"a negative clock skew":      {args: []string{"--max-clock-skew=-1m"}, want: "--max-clock-skew must be greater than 0"},
		"fewer than no deletes":      {args: []string{"--max-deletes-per-second=-1"}, want: "--max-deletes-per-second must not be negative"},
		"deletes that are no number": {args: []string{"--max-deletes-per-second=NaN"}, want: "--max-deletes-per-second must not be negative"},
		"fewer than none in flight":  {args: []string{"--max-in-flight-per-driver=-1"}, want: "--max-in-flight-per-driver must not be negative"},
	} {
		t.Run(name, func(t *testing.T) {
			err := parseFlags(flag.NewFlagSet("", flag.PanicOnError), tc.args).validate()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

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
