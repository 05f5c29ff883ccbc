// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
)

// Contract: SLOT-14.
func TestMergeRequests(t *testing.T) {
	at := func(ago time.Duration, claims ...string) v1alpha1.Request {
		return v1alpha1.Request{At: clitest.Start.Add(-ago), Claims: claims}
	}
	var many []string
	for i := range v1alpha1.MaxRequestedClaims {
		many = append(many, fmt.Sprintf("data-%03d", i))
	}
	for name, tc := range map[string]struct {
		before  v1alpha1.Request
		waiting v1alpha1.Request // of before
		claim   string
		want    v1alpha1.Request // zero: an error
	}{
		"the first":                                    {v1alpha1.Request{}, v1alpha1.Request{}, "a", at(0, "a")},
		"the first for all":                            {v1alpha1.Request{}, v1alpha1.Request{}, "", at(0)},
		"another PVC still waits":                      {at(59*time.Second, "b"), at(59*time.Second, "b"), "a", at(0, "a", "b")},
		"the same PVC still waits":                     {at(time.Second, "a"), at(time.Second, "a"), "a", at(0, "a")},
		"one of two still waits":                       {at(time.Second, "b", "c"), at(time.Second, "c"), "a", at(0, "a", "c")},
		"another PVC has its snapshot":                 {at(time.Second, "b"), v1alpha1.Request{}, "a", at(0, "a")},
		"the other request is a minute old":            {at(time.Minute, "b"), at(time.Minute, "b"), "a", at(0, "a")},
		"all still wait":                               {at(time.Second), at(time.Second), "a", at(0)},
		"of all, one still waits":                      {at(time.Second), at(time.Second, "b"), "a", at(0, "a", "b")},
		"of all, none still waits":                     {at(time.Second), v1alpha1.Request{}, "a", at(0, "a")},
		"for all, while one waits":                     {at(time.Second, "b"), at(time.Second, "b"), "", at(0)},
		"another API server's clock is ahead":          {at(-59*time.Second, "b"), at(-59*time.Second, "b"), "a", at(-59*time.Second, "a", "b")},
		"for all, another API server's clock is ahead": {at(-30*time.Second, "b"), at(-30*time.Second, "b"), "", at(-30 * time.Second)},
		"replaces a request for later":                 {at(-time.Minute, "b"), at(-time.Minute, "b"), "a", at(0, "a")},
		"as many as a request can name":                {at(time.Second, many[1:]...), at(time.Second, many[1:]...), many[0], at(0, many...)},
		"more than a request can name":                 {at(time.Second, many...), at(time.Second, many...), "a", v1alpha1.Request{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := mergeRequests(tc.before, clitest.Start, tc.claim, func() (v1alpha1.Request, error) { return tc.waiting, nil })
			if tc.want.At.IsZero() {
				if err == nil {
					t.Errorf("got %v, want an error", got)
				}
				return
			}
			if err != nil || got.String() != tc.want.String() {
				t.Errorf("got %v, %v, want %v", got, err, tc.want)
			}
		})
	}
}
