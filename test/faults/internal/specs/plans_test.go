// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"regexp"
	"testing"
)

func TestPlans(t *testing.T) {
	plans := Plans()
	if len(plans) < 300 {
		t.Errorf("%d plans, want at least 300", len(plans))
	}
	again := Plans()
	seen := map[string]bool{}
	invalid := 0
	for i, p := range plans {
		if seen[p.ID] {
			t.Errorf("duplicate ID %s", p.ID)
		}
		seen[p.ID] = true
		if len(p.invalid) > 0 {
			invalid++
		}
		if again[i].ID != p.ID {
			t.Errorf("plan %d is first %s, then %s", i, p.ID, again[i].ID)
		}
		if !regexp.MustCompile(`^specs:[^ \n]+$`).MatchString(p.ID) {
			t.Errorf("ID %q needs quotes on a command line", p.ID)
		}
	}
	if valid := len(plans) - invalid; valid < 200 || invalid < 50 {
		t.Errorf("%d valid and %d invalid plans, want at least 200 and 50", valid, invalid)
	}
}

func TestPlansExpectWhatTheContractSays(t *testing.T) {
	invalid := map[string]bool{
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
	for _, p := range Plans() {
		if want, ok := invalid[p.ID]; ok && want != (len(p.invalid) > 0) {
			t.Errorf("%s: invalid fields %q", p.ID, p.invalid)
		}
		delete(invalid, p.ID)
	}
	for id := range invalid {
		t.Errorf("no plan has the ID %s", id)
	}
}
