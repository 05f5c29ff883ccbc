// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// Who may patch a snapshot can fill the list of its holders. That ends nobody's hold, and keeps no rollback and no copy from theirs.
//
// Contract: CLI-3.
func TestAFullListOfHolders(t *testing.T) {
	filled := func(n int, end time.Time, prefix string) Holders {
		h := Holders{map[string]time.Time{}}
		for i := range n {
			h.ends[prefix+strconv.Itoa(100+i)] = end
		}
		return h
	}
	soon := noon.Add(10 * time.Minute)
	people := filled(2*maxHolders, Forever, "x")
	people.ends["audit"] = soon
	for name, tc := range map[string]struct {
		before Holders
		name   string
		gone   int
		why    string
	}{
		"of others that end soon":           {before: filled(maxHolders, soon, "x"), name: "incident", why: `such as "x100"`},
		"of others that never end":          {before: filled(maxHolders, Forever, "x"), name: "incident", why: `such as "x100"`},
		"of too many":                       {before: people, name: "incident", why: `held for 129 reasons, and cannot be for another one: end one that is not needed any more, such as "audit"`},
		"one is lengthened":                 {before: people, name: "audit"},
		"one is left":                       {before: filled(maxHolders-1, Forever, "x"), name: "incident"},
		"some ended long ago":               {before: filled(maxHolders, noon.Add(-2*time.Hour), "x"), name: "incident", gone: maxHolders},
		"of rollbacks":                      {before: filled(2*maxHolders, Forever, rollbackPrefix), name: "incident"},
		"of others, a rollback":             {before: people, name: OfRollback("deadbeef")},
		"of others, a copy":                 {before: people, name: CopyPrefix + "deadbeef"},
		"of what passes for rollbacks":      {before: filled(maxHolders, soon, rollbackPrefix), name: OfRollback("deadbeef"), gone: 1},
		"of too many that pass for copies":  {before: filled(maxHolders+5, Forever, CopyPrefix), name: OfRollback("deadbeef"), gone: 6},
		"of rollbacks, one goes on":         {before: filled(maxHolders, Forever, rollbackPrefix), name: OfRollback("100")},
		"of one less, the next is the last": {before: filled(maxHolders-1, Forever, rollbackPrefix), name: OfRollback("deadbeef")},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := tc.before.With(tc.name, at(nextWeek), noon)
			if tc.why != "" {
				if err == nil || !strings.Contains(err.Error(), tc.why) || len(h.ends) != len(tc.before.ends) {
					t.Errorf("%d of %d holders; %v", len(h.ends), len(tc.before.ends), err)
				}
				return
			}
			gone := 0
			for other, end := range tc.before.ends {
				if other != tc.name && !h.Until(other).Equal(end) {
					gone++
				}
			}
			if err != nil || h.Until(tc.name).Before(at(nextWeek)) || gone != tc.gone {
				t.Errorf("held until %s; %d of the others are gone; %v", h.Until(tc.name), gone, err)
			}
		})
	}
}
