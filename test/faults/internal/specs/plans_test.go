// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"regexp"
	"testing"
)

func TestPlans(t *testing.T) {
	isInvalid := map[string]bool{
		"specs:snapshotInterval=1s":                                      false,
		"specs:jitter=6h+snapshotInterval=1y1w1d1h1m1s":                  false,
		"specs:schedule=0_0_30_2_*":                                      true,
		"specs:timeZone=Europe/Atlantis":                                 true,
		"specs:jitter=6h":                                                true,
		"specs:jitter=5h59m59s":                                          false,
		"specs:good":                                                     false,
		"specs:selector=most":                                            false,
		"specs:schedule=0_0_30_2_*+retention.minReady=0":                 true,
		"specs:retention.maxCount=2+retention.keep.last=1":               false,
		"specs:timeZone=UTC+retention.detached.snapshotTTL=1y1w1d1h1m1s": false,
		"specs:schedule=0_0_30_2_*+timeZone=Europe/Atlantis":             true,
	}
	plans, again := Plans(), Plans()
	seen, invalid := map[string]bool{}, 0
	for i, p := range plans {
		if len(p.invalid) > 0 {
			invalid++
		}
		if want, ok := isInvalid[p.ID]; ok && want != (len(p.invalid) > 0) {
			t.Errorf("%s: invalid fields %q", p.ID, p.invalid)
		}
		if again[i].ID != p.ID || seen[p.ID] || !regexp.MustCompile(`^specs:[^ \n]+$`).MatchString(p.ID) {
			t.Errorf("ID %q is a duplicate, needs quotes on a command line, or changes to %s", p.ID, again[i].ID)
		}
		seen[p.ID] = true
		delete(isInvalid, p.ID)
	}
	if valid := len(plans) - invalid; valid < 200 || invalid < 50 || len(isInvalid) > 0 {
		t.Errorf("%d valid and %d invalid plans, want at least 200 and 50; missing: %v", valid, invalid, isInvalid)
	}
}
