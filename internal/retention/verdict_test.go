// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import "testing"

// The names are labels of a metric.
func TestVerdictNamesMatchVerdicts(t *testing.T) {
	if len(verdictNames) != int(Superseded)+1 {
		t.Fatalf("%d names for %d verdicts", len(verdictNames), Superseded+1)
	}
	for v := NoLimit; v <= Superseded; v++ {
		deletes := v == Expired || v == NotSelected || v == OverCap || v == Replaced || v == ClaimGone || v == Superseded
		if v.Delete() != deletes {
			t.Errorf("%v.Delete() = %v", v, v.Delete())
		}
	}
	for v, want := range map[Verdict]string{
		NoLimit: "NoLimit", HeldInProgress: "HeldInProgress", KeptYearly: "KeptYearly", Floor: "Floor", Verified: "Verified",
		Expired: "Expired", NotSelected: "NotSelected", OverCap: "OverCap",
		Replaced: "Replaced", ClaimGone: "ClaimGone", Superseded: "Superseded",
	} {
		if v.String() != want {
			t.Errorf("%d.String() = %v, want %v", v, v, want)
		}
	}
}
