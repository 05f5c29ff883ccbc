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
		t.Errorf("%d plans, want 300 at least", len(plans))
	}
	seen := map[string]bool{}
	by := map[verdict]int{}
	for i, p := range plans {
		if seen[p.ID] {
			t.Errorf("two plans are called %s", p.ID)
		}
		seen[p.ID] = true
		by[p.verdict]++
		if again := Plans()[i].ID; again != p.ID {
			t.Errorf("plan %d is %s at one time and %s at another", i, p.ID, again)
		}
		if !regexp.MustCompile(`^specs:[^ \n]+$`).MatchString(p.ID) {
			t.Errorf("%q is not fit for a command line", p.ID)
		}
		if p.verdict != valid && len(p.names) == 0 {
			t.Errorf("%s is bad, and nothing says what is to be named", p.ID)
		}
	}
	for v, least := range map[verdict]int{valid: 200, refused: 100, invalid: 50} {
		if by[v] < least {
			t.Errorf("%d plans of verdict %d, want %d at least", by[v], v, least)
		}
	}
	t.Logf("%d plans: %d valid, %d refused, %d invalid", len(plans), by[valid], by[refused], by[invalid])
}

// What the contract says of some specs.
func TestVerdicts(t *testing.T) {
	want := map[string]verdict{
		"specs:snapshotInterval=1s":                                   valid,
		"specs:snapshotInterval=0s":                                   refused,
		"specs:snapshotInterval=1s+schedule=@hourly":                  refused,
		"specs:schedule=0_0_30_2_*":                                   invalid,
		"specs:timeZone=Europe/Atlantis":                              invalid,
		"specs:jitter=6h":                                             invalid,
		"specs:jitter=5h59m59s":                                       valid,
		"specs:spec=empty":                                            refused,
		"specs:good":                                                  valid,
		"specs:selector=label-with-blank":                             invalid,
		"specs:schedule=0_0_30_2_*+retention.minReady=0":              invalid,
		"specs:retention.maxCount=1+retention.keep.last=1":            valid,
		"specs:retention.minReady=2147483648":                         refused,
		"specs:timeZone=UTC+retention.detached.snapshotTTL=1s":        valid,
		"specs:schedule=0_0_30_2_*+timeZone=Europe/Atlantis":          invalid,
		"specs:snapshotTemplate.metadata.labels=ours":                 refused,
		"specs:retention.keep.yearly=0+retention.detached.minReady=0": refused,
	}
	for _, p := range Plans() {
		if v, ok := want[p.ID]; ok && v != p.verdict {
			t.Errorf("%s is %d, want %d", p.ID, p.verdict, v)
		}
	}
}

func TestChoose(t *testing.T) {
	for pattern, least := range map[string]int{"specs:good": 1, "specs:jitter=*": 5, "*timeZone=Europe/Atlantis*": 3} {
		found, err := Choose([]string{pattern}, 0)
		if err != nil || len(found) < least {
			t.Errorf("%s chooses %d plans, want %d at least: %v", pattern, len(found), least, err)
		}
	}
	if found, err := Choose(nil, 7); err != nil || len(found) != 7 {
		t.Errorf("a limit of 7 chooses %d: %v", len(found), err)
	}
	if _, err := Choose([]string{"nothing"}, 0); err == nil {
		t.Error("a name that no plan has chooses some")
	}
}
