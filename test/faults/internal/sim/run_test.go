/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package sim

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// found are seeds whose lives once broke a guarantee, and what they found.
var found = map[uint64]string{}

func TestSeedsThatOnceFailed(t *testing.T) {
	for seed, what := range found {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			if r := Run(seed); len(r.Violations) > 0 {
				t.Errorf("%s\n%s", what, r)
			}
		})
	}
}

// lives is how many TestLives lives, LIVES says otherwise. The campaign lives
// more of them: go run ./test/faults --class simulation.
const lives = 16

func TestLives(t *testing.T) {
	n := lives
	if text := os.Getenv("LIVES"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatalf("LIVES is %q; write a number such as 200", text)
		}
	}
	for _, r := range RunMany(context.Background(), 0, n, nil) {
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
	for seed := range uint64(4) {
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

// A life in which nothing happens would break nothing.
func TestLivesAreFull(t *testing.T) {
	var created, deleted, patched, restarts, refused, skewed int
	for seed := range uint64(6) {
		r := Run(seed)
		created += r.Snapshots
		for _, q := range r.History.Requests {
			if q.Verb == "delete" && q.Code == 200 {
				deleted++
			}
			if q.Verb == "patch" && q.Resource == "volumesnapshots" && q.Code == 200 {
				patched++
			}
			if q.Seen >= 400 {
				refused++
			}
			restarts = max(restarts, q.Process)
		}
		for _, w := range r.History.Windows {
			if w.Kind == history.Skewed {
				skewed++
			}
		}
	}
	for what, n := range map[string][2]int{
		"snapshots created":           {created, 1000},
		"snapshots deleted":           {deleted, 500},
		"adoptions and releases":      {patched, 50},
		"starts in the fullest life":  {restarts, 10},
		"requests refused":            {refused, 500},
		"stretches with clocks apart": {skewed, 6},
	} {
		if n[0] < n[1] {
			t.Errorf("%s: %d, want %d or more", what, n[0], n[1])
		}
	}
}
