// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// found are seeds whose lives once broke a guarantee, and what they found.
var found = map[uint64]string{
	4:   "a foreground deletion waited for a restore that someone else's snapshot kept from ending",
	26:  "the cap counted a snapshot that was held for a restore, which a late cache did not show: an open breach",
	100: "a snapshot went by the cap, which counted newer ones that a user had deleted unseen",
	106: "tiers took the newest snapshot for an old one that was put back, and its slot was due again",
	145: "status went on to tell the slot of a clock that had been ahead",
	218: "an oracle took a floor that a late cache knew for none",
	236: "status was patched from an old copy of the schedule, and counted more ready snapshots than there were",
	274: "as with 106, with an interval",
	475: "an oracle did not know that a clock that is set back comes to a slot once more",
}

// lives is how many TestLives lives, from seed 0 on. The campaign lives as many as
// it is told; so does LIVES=1000 go test -run TestManyLives.
const lives = 200

func TestLives(t *testing.T) {
	n := uint64(lives)
	if testing.Short() {
		n = 10
	}
	seeds := maps.Clone(found)
	for seed := range n {
		seeds[seed] = found[seed]
	}
	var all tally
	t.Run("lives", func(t *testing.T) {
		for seed, what := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				r := Run(seed)
				if len(r.Violations) > 0 {
					t.Errorf("%s\n%s", what, r)
				}
				all.add(r)
			})
		}
	})
	all.check(t, len(seeds))
}

func TestManyLives(t *testing.T) {
	text := os.Getenv("LIVES")
	if text == "" {
		t.Skip("LIVES is not set: write LIVES=1000 to live so many")
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("LIVES is %q; write a number such as 1000", text)
	}
	told := func(p Progress) {
		if p.Done%20 == 0 || p.Done == p.Total {
			t.Logf("%d of %d lives, %d failed, %s", p.Done, p.Total, p.Failed, p.Took.Round(time.Second))
		}
	}
	for _, r := range RunMany(context.Background(), 0, n, told) {
		t.Error(r)
	}
}

// TestSeed repeats one life: SEED=7 go test -run TestSeed -v.
func TestSeed(t *testing.T) {
	text := os.Getenv("SEED")
	if text == "" {
		t.Skip("SEED is not set: write SEED=7 to see that life once more")
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("SEED is %q; write a number such as 7", text)
	}
	r := Run(seed)
	t.Logf("%d changes, %d requests, %d snapshots created, %d reconciles",
		len(r.History.Changes), len(r.History.Requests), r.Snapshots, r.Reconciles)
	if len(r.Violations) > 0 {
		t.Error(r)
	}
}

// A seed that does not give the same history again is worth nothing, and two
// runs at once must not touch each other.
func TestSameSeedSameHistory(t *testing.T) {
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

// tally counts what happened in lives: those in which nothing does would break
// nothing.
type tally struct {
	mu sync.Mutex

	created, deleted, patched, starts, refused, skewed int
}

func (a *tally) add(r Result) {
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
	for _, w := range r.History.Windows {
		if w.Kind == history.Skewed {
			a.skewed++
		}
	}
}

func (a *tally) check(t *testing.T, lives int) {
	for what, n := range map[string]struct{ is, each int }{
		"snapshots created":           {a.created, 150},
		"snapshots deleted":           {a.deleted, 100},
		"adoptions and releases":      {a.patched, 20},
		"starts of operators":         {a.starts, 30},
		"requests refused":            {a.refused, 1000},
		"stretches with clocks apart": {a.skewed, 2},
	} {
		t.Logf("%s: %d", what, n.is)
		if want := n.each * lives; n.is < want {
			t.Errorf("%s: %d in %d lives, want %d or more", what, n.is, lives, want)
		}
	}
}
