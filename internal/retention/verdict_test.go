// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import "testing"

// The names are labels of a metric.
func TestVerdictNamesMatchVerdicts(t *testing.T) {
	if len(verdictNames) != int(KeepsClaim)+1 {
		t.Fatalf("%d names for %d verdicts", len(verdictNames), KeepsClaim+1)
	}
	for v := NoLimit; v <= KeepsClaim; v++ {
		deletes := v == Expired || v == NotSelected || v == OverCap || v == Replaced || v == ClaimGone || v == Superseded ||
			v == KeepsClaim
		if v.Delete() != deletes {
			t.Errorf("%v.Delete() = %v", v, v.Delete())
		}
	}
	for v, want := range map[Verdict]string{
		NoLimit: "NoLimit", HeldInProgress: "HeldInProgress", KeptLast: "KeptLast", KeptYearly: "KeptYearly", KeptNewest: "KeptNewest", Floor: "Floor", Verified: "Verified",
		Expired: "Expired", NotSelected: "NotSelected", OverCap: "OverCap",
		Replaced: "Replaced", ClaimGone: "ClaimGone", Superseded: "Superseded", KeepsClaim: "KeepsClaim",
	} {
		if v.String() != want {
			t.Errorf("%d.String() = %v, want %v", v, v, want)
		}
	}
}
