// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"pgregory.net/rapid"
	ctrl "sigs.k8s.io/controller-runtime"
)

// The same seed every time; rapid.checks simulations of about rapid.steps actions each.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.seed": "1", "rapid.checks": "3", "rapid.steps": "150"} {
		must(flag.Set(name, value))
	}
	ctrl.SetLogger(logr.Discard())
	// Its default handlers remember across bubbles when the last error was: an informer whose request fails would sleep for months.
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// start is when every simulation starts: a Tuesday, 26 days before Europe and 5 days before North America set their clocks forward.
var start = time.Date(2026, 3, 3, 9, 30, 0, 0, time.UTC)

const (
	// meanPause is the mean time between two actions.
	meanPause = 9 * time.Hour
	// mostDays is how long users act.
	mostDays = 90
)

// seed draws a number without a preference for small ones.
var seed = rapid.Custom(func(t *rapid.T) (n uint64) {
	for range 32 {
		n <<= 1
		if rapid.Bool().Draw(t, "bit") {
			n++
		}
	}
	return n
})

func dice(t *rapid.T, what string) *rand.Rand { return rand.New(rand.NewPCG(seed.Draw(t, what), 1)) }

func TestSimulations(t *testing.T) { simulateMany(t, false) }

// Contract: GRP-3, GRP-9, GRP-10.
func TestSimulationsOfGroups(t *testing.T) { simulateMany(t, true) }

func simulateMany(t *testing.T, takesGroups bool) {
	var happened counts
	rapid.Check(t, func(rt *rapid.T) { inBubble(t, func() { simulate(t, rt, takesGroups, &happened) }) })
	t.Logf("%+v", happened)
	// Where too little happens, nothing is tested. One simulation alone may be short.
	checks, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	must(err)
	least := min(happened.created, happened.deleted, 10*happened.patched, happened.starts, happened.refused)
	if checks > 1 && least < 5*checks {
		t.Error("that is too little")
	}
}

// inBubble runs a function in a bubble, and passes its panic on: rapid ends a run that failed with one.
func inBubble(t *testing.T, do func()) {
	var failed any
	synctest.Test(t, func(*testing.T) {
		defer func() { failed = recover() }()
		do()
	})
	if failed != nil {
		panic(failed)
	}
}

func simulate(tb *testing.T, t *rapid.T, takesGroups bool, happened *counts) {
	r := dice(t, "cluster")
	w := newWorld(start, r.Uint64(), pick(r, 5*time.Second, time.Minute, 10*time.Minute))
	w.counts, w.takesGroups = happened, takesGroups
	w.inFlight = pick(r, 0, 1, 2)
	w.judge.InFlight = w.inFlight
	defer w.end()
	var u *users
	w.locked(func() {
		u = newUsers(w, r)
		w.start()
	})
	check := func(found []string) {
		for _, f := range slices.Concat(w.judge.Found(), w.wrong, found) {
			f = time.Now().UTC().Format(time.DateTime) + ": " + f
			tb.Log(f) // also if the same actions do not repeat it
			t.Error(f)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Repeat(map[string]func(*rapid.T){"step": func(t *rapid.T) {
		if u.r = dice(t, "step"); time.Since(start) > mostDays*day {
			return
		}
		now := time.Now().UTC().Format(time.DateTime)
		t.Logf("%s: %s", now, u.act())
		time.Sleep(time.Duration(u.r.ExpFloat64() * float64(meanPause)))
		check(nil)
	}})
	w.locked(u.stopFaults)
	time.Sleep(quietDays * day)
	var found []string
	for range 5 { // status lags behind the latest changes, by its interval
		if w.locked(func() { found = w.judgeEnd() }); len(found) == 0 {
			break
		}
		time.Sleep(slack / 2)
	}
	check(found)
	w.locked(u.goIdle)
	time.Sleep(3 * day) // condition Protected changes at the second slot that was not taken
	w.locked(func() { found = w.statusErrors() })
	check(found)
	sent, changes := w.sent, len(w.log)
	time.Sleep(day)
	if w.sent > sent || len(w.log) > changes {
		check([]string{fmt.Sprintf("L2: %d requests and %d changes on a day with nothing to do", w.sent-sent, len(w.log)-changes)})
	}
}
