// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFlagsThatMakeNoSenseAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*flags)
		want   string // contained in the error; empty: none
	}{
		"sound values":               {change: func(*flags) {}},
		"no limits":                  {change: func(f *flags) { f.deletesPerSecond, f.maxInFlight = 0, 0 }},
		"no worker":                  {change: func(f *flags) { f.workers = 0 }, want: "--max-concurrent-reconciles must be greater than 0"},
		"no time between statuses":   {change: func(f *flags) { f.statusInterval = 0 }, want: "--status-interval must be greater than 0"},
		"no clock skew":              {change: func(f *flags) { f.maxClockSkew = 0 }, want: "--max-clock-skew must be greater than 0"},
		"a negative clock skew":      {change: func(f *flags) { f.maxClockSkew = -time.Minute }, want: "--max-clock-skew must be greater than 0"},
		"fewer than no deletes":      {change: func(f *flags) { f.deletesPerSecond = -1 }, want: "--max-deletes-per-second must not be negative"},
		"deletes that are no number": {change: func(f *flags) { f.deletesPerSecond = math.NaN() }, want: "--max-deletes-per-second must not be negative"},
		"fewer than none in flight":  {change: func(f *flags) { f.maxInFlight = -1 }, want: "--max-in-flight-per-driver must not be negative"},
	} {
		t.Run(name, func(t *testing.T) {
			f := flags{workers: 64, statusInterval: 5 * time.Second, deletesPerSecond: 50, maxInFlight: 100, maxClockSkew: time.Minute}
			tc.change(&f)
			err := f.validate()
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
