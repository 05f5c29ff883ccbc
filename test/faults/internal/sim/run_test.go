// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// regressionSeeds are seeds that once broke a guarantee, and why.
var regressionSeeds = map[uint64]string{
	4:   "a foreground deletion waited for a restore that someone else's snapshot kept from ending",
	26:  "the cap counted a snapshot that was held for a restore, which a lagging cache did not show",
	100: "the cap deleted a snapshot, because it counted newer ones whose deletion the cache had not seen",
	106: "tiers preferred an old snapshot that was restored later to the newest one, whose slot was then due again",
	145: "status kept the slot of a clock that had been ahead",
	218: "an oracle did not count a floor that a lagging cache knew",
	236: "status was patched from an old copy of the schedule, and counted more ready snapshots than existed",
	274: "as with 106, with an interval",
	475: "an oracle did not know that a clock that is set back reaches a slot again",
}

// seedsInCI is how many seeds TestSimulations runs, from 0 on. For more: go run ./test/faults/mutants/simulations -n 1000.
const seedsInCI = 200

func TestSimulations(t *testing.T) {
	n := uint64(seedsInCI)
	if testing.Short() {
		n = 10
	}
	seeds := maps.Clone(regressionSeeds)
	for seed := range n {
		seeds[seed] = regressionSeeds[seed]
	}
	var all activity
	t.Run("seeds", func(t *testing.T) {
		for seed, why := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				r := Run(seed)
				if len(r.Violations) > 0 {
					t.Errorf("%s\n%s", why, r)
				}
				all.add(r)
			})
		}
	})
	all.check(t, len(seeds))
}

// TestSeed repeats one simulation: SEED=7 go test -run TestSeed -v.
func TestSeed(t *testing.T) {
	text := os.Getenv("SEED")
	if text == "" {
		t.Skip("SEED is not set: write SEED=7 to repeat that simulation")
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("SEED is %q; write a number such as 7", text)
	}
	r := Run(seed)
	t.Logf("%d changes, %d requests, %d snapshots created, %d reconciles; allowed only by the operator's cache: %v",
		len(r.History.Changes), len(r.History.Requests), r.Snapshots, r.Reconciles, r.ByCache)
	if len(r.Violations) > 0 {
		t.Error(r)
	}
}

// A seed repeats its history exactly, also beside another run in the process.
func TestSameSeedGivesSameHistory(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			first, second := make(chan string), make(chan string)
			for _, sum := range []chan string{first, second} {
				go func() { sum <- digest(t, Run(seed).History) }()
			}
			if a, b := <-first, <-second; a != b {
				t.Errorf("two runs of seed %d gave histories with digests %s and %s", seed, a, b)
			}
		})
	}
}

func digest(t *testing.T, h *history.History) string {
	sum := sha256.New()
	out := json.NewEncoder(sum)
	for _, part := range []any{h.Changes, h.Requests, h.Windows, h.Began, h.Ended} {
		if err := out.Encode(part); err != nil {
			t.Error(err)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// activity counts what happened in all simulations: where too little happens, nothing is tested.
type activity struct {
	mu sync.Mutex

	created, deleted, patched, starts, refused, skewed int
	// byCache counts what only the operator's cache allowed, by guarantee.
	byCache map[string]int
}

func (a *activity) add(r Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.created += r.Snapshots
	last := 0
	for _, q := range r.History.Requests {
		if q.Verb == "delete" && q.Code == http.StatusOK {
			a.deleted++
		}
		if q.Verb == "patch" && q.Resource == "volumesnapshots" && q.Code == http.StatusOK {
			a.patched++
		}
		if q.Seen >= http.StatusBadRequest {
			a.refused++
		}
		last = max(last, q.Process)
	}
	a.starts += last + 1
	for _, v := range r.ByCache {
		if a.byCache == nil {
			a.byCache = map[string]int{}
		}
		a.byCache[v.Oracle]++
	}
	for _, sim := range r.History.Windows {
		if sim.Kind == history.Skewed {
			a.skewed++
		}
	}
}

func (a *activity) check(t *testing.T, seeds int) {
	for what, n := range map[string]struct{ is, each int }{
		"snapshots created":      {a.created, 150},
		"snapshots deleted":      {a.deleted, 100},
		"adoptions and releases": {a.patched, 20},
		"operator starts":        {a.starts, 30},
		"requests refused":       {a.refused, 1000},
		"windows of clock skew":  {a.skewed, 2},
	} {
		t.Logf("%s: %d", what, n.is)
		if want := n.each * seeds; n.is < want {
			t.Errorf("%s: %d in %d simulations, want %d or more", what, n.is, seeds, want)
		}
	}
	t.Logf("allowed only by the operator's cache: %d deletes (S2), %d creates (S4)", a.byCache["S2"], a.byCache["S4"])
	if most := a.deleted / 1000; a.byCache["S2"]+a.byCache["S4"] > most {
		t.Errorf("that is more than %d, although late caches are rare", most)
	}
}
