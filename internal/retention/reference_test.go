// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"fmt"
	"slices"
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// contract is the section "Retention" once more, written down clause by clause
// with no thought for speed and nothing shared with Decide but the types. It
// says which snapshots are deleted, by name.
func contract(p Policy, now time.Time, s Series) map[string]bool {
	slot := func(x Snapshot) time.Time {
		if x.ScheduledAt.IsZero() || x.ScheduledAt.After(now) {
			return x.Created
		}
		return x.ScheduledAt
	}
	age := func(x Snapshot) time.Duration {
		base := x.Created
		if x.HasCutTime && !x.CutTime.After(now) && x.CutTime.After(base) {
			base = x.CutTime
		}
		return now.Sub(base)
	}
	all := slices.Clone(s.Snapshots)
	sort.Slice(all, func(i, j int) bool { // newest first
		a, b := all[i], all[j]
		if !slot(a).Equal(slot(b)) {
			return slot(a).After(slot(b))
		}
		if !a.Created.Equal(b.Created) {
			return a.Created.After(b.Created)
		}
		return a.Name > b.Name
	})

	detached := s.Claim != Selected
	ttl, keep, minReady := p.TTL, p.Keep, p.MinReady
	if detached && p.Detached.TTL > 0 {
		ttl, keep = p.Detached.TTL, Tiers{}
	}
	if s.Claim == Gone {
		minReady = p.Detached.MinReady
	}

	due := s.Claim == Selected && !s.ClaimDeleting && !s.Slot.IsZero()
	for _, x := range all {
		due = due && slot(x).Before(s.Slot)
	}
	var newest string // of those that are not going already
	for _, x := range slices.Backward(all) {
		if !x.Deleting {
			newest = x.Name
		}
	}
	expired := func(x Snapshot) bool {
		if x.Name == newest && !detached && now.Sub(slot(x)) < ttl {
			return false // the slot would be due again
		}
		return ttl > 0 && age(x) >= ttl
	}

	var ready []Snapshot // only ready snapshots count for tiers, cap and floor
	held := map[string]bool{}
	gone := map[string]bool{}
	for _, x := range all {
		uncut := !x.HasCutTime && !x.ReadyToUse
		young := now.Sub(x.Created) < p.ReadyDeadline
		switch {
		case x.Deleting, x.Hold != HoldNone:
			held[x.Name] = true
		case uncut && (s.Claim == Gone || s.ClaimDeleting):
			gone[x.Name] = true
		case uncut && young, !uncut && !x.ReadyToUse && !x.HasError && len(ready) == 0:
			held[x.Name] = true // under way
		case uncut && due:
			gone[x.Name] = true // replaced
		}
		if x.ReadyToUse && !x.Deleting {
			ready = append(ready, x)
		}
	}

	byTier := map[string]bool{}
	for i, x := range ready {
		if i < keep.Last {
			byTier[x.Name] = true
		}
	}
	for _, tier := range []struct {
		count  int
		period func(time.Time) string
	}{
		{keep.Hourly, func(t time.Time) string { return t.Format("2006-01-02 15 -0700") }},
		{keep.Daily, func(t time.Time) string { return t.Format("2006-01-02") }},
		{keep.Weekly, func(t time.Time) string { y, w := t.ISOWeek(); return fmt.Sprint(y, w) }},
		{keep.Monthly, func(t time.Time) string { return t.Format("2006-01") }},
		{keep.Yearly, func(t time.Time) string { return t.Format("2006") }},
	} {
		newest := map[string]Snapshot{} // of each period that contains one
		for _, x := range ready {
			period := tier.period(x.Created.In(p.Location))
			if have, ok := newest[period]; !ok || x.Created.After(have.Created) {
				newest[period] = x
			}
		}
		var periods []string
		for period := range newest {
			periods = append(periods, period)
		}
		sort.Slice(periods, func(i, j int) bool { return newest[periods[i]].Created.After(newest[periods[j]].Created) })
		for i, period := range periods {
			if i < tier.count {
				byTier[newest[period].Name] = true
			}
		}
	}

	limited := ttl > 0 || keep != Tiers{}
	for _, x := range ready {
		serves := x.Name == newest && !detached // its slot would be due again
		if limited && !held[x.Name] && !byTier[x.Name] && (ttl == 0 && !serves || expired(x)) {
			gone[x.Name] = true
		}
	}
	for _, x := range all {
		if !x.ReadyToUse && !held[x.Name] && expired(x) {
			gone[x.Name] = true
		}
	}

	var order []string // in which the cap takes them
	for _, tiered := range []bool{false, true} {
		for _, x := range slices.Backward(ready) {
			if !held[x.Name] && !gone[x.Name] && byTier[x.Name] == tiered {
				order = append(order, x.Name)
			}
		}
	}
	if excess := len(order) - p.MaxCount; p.MaxCount > 0 && excess > 0 {
		if !detached {
			order = slices.DeleteFunc(order, func(name string) bool { return name == newest })
		}
		for _, name := range order[:min(excess, len(order))] {
			gone[name] = true
		}
	}
	for i, x := range ready {
		if i < minReady {
			delete(gone, x.Name)
		}
	}

	oldest := time.Duration(-1) // age of the oldest ready one that is kept
	for _, x := range ready {
		if !gone[x.Name] {
			oldest = max(oldest, age(x))
		}
	}
	for _, x := range all {
		cut := x.HasCutTime && !x.ReadyToUse
		if cut && !held[x.Name] && ttl == 0 && (x.Name != newest || detached) && (limited || p.MaxCount > 0) &&
			now.Sub(x.Created) >= p.ReadyDeadline && oldest >= 0 && age(x) > oldest {
			gone[x.Name] = true
		}
	}
	return gone
}

func TestDecideIsTheContract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, rapid.Bool().Draw(t, "honest"))
		want := contract(p, noon, s)
		got := Decide(p, noon, s)
		for i := range s.Snapshots {
			if name := s.Snapshots[i].Name; got.Verdicts[i].Delete() != want[name] {
				t.Errorf("%s: %v, but the contract deletes: %v", name, got.Verdicts[i], want[name])
			}
		}
	})
}
