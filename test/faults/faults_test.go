// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/rig"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/workload"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// shortWorkloads are fast, and together make the operator do everything that it does. With -short, their plans with the smallest hashes
// of their names run.
var shortWorkloads = []string{
	"first", "tick", "expiry", "replace", "edit", "gone", "policy-orphan", "to-orphan", "deleted-orphan", "adopt", "release", "fleet",
}

// shortPlans is how many plans of a class run with -short, of each of these workloads.
var shortPlans = map[plan.Class]int{
	plan.Crash: 4, plan.TwoManagers: 1, plan.Idle: 1,
}

// idleTime is how long the end states of class idle are observed.
func idleTime() time.Duration {
	if testing.Short() {
		return 3 * time.Second
	}
	return 15 * time.Second
}

// campaign is one run of TestFaults.
type campaign struct {
	server     *environment.Cluster
	report     *report
	namespaces atomic.Int64
}

// TestFaults runs workloads with the faults of their plans: go test -run 'TestFaults/<class>/<workload>/<point and action>'.
func TestFaults(t *testing.T) {
	if os.Getenv(cluster.EnvDir) == "" {
		t.Skip("it needs a local cluster")
	}
	ctrl.SetLogger(logr.Discard())
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	c := &campaign{report: &report{began: time.Now(), rows: map[plan.Class]row{}}}
	if c.server, err = environment.Connect(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	defer c.report.showProgress()()
	t.Cleanup(func() { c.report.write(t, filepath.Join(root, "bin", "faults.md")) })
	workloads := workload.All()
	if testing.Short() {
		if workloads, err = workload.Find(shortWorkloads...); err != nil {
			t.Fatal(err)
		}
	}
	references := map[string]func() (reference, error){}
	for _, w := range workloads {
		references[w.Name] = sync.OnceValues(func() (reference, error) { return c.refer(context.WithoutCancel(t.Context()), w) })
	}
	for _, class := range plan.Classes {
		t.Run(string(class), func(t *testing.T) {
			for _, w := range workloads {
				t.Run(w.Name, func(t *testing.T) {
					t.Parallel()
					ref, err := references[w.Name]()
					if err != nil {
						t.Fatal(err)
					}
					for _, p := range selected(class, w.Name, plan.Of(class, ref.trace, idleTime())) {
						t.Run(p.Name, func(t *testing.T) {
							t.Parallel()
							c.check(t, w, p, ref.end)
						})
					}
				})
			}
		})
	}
}

// selected returns all or, with -short, the share of a class, in the order of their hashes.
func selected(class plan.Class, workload string, all []plan.Plan) []plan.Plan {
	share, known := shortPlans[class]
	if !known {
		panic("shortPlans lacks class " + string(class))
	}
	if !testing.Short() {
		return all
	}
	hash := func(p plan.Plan) uint32 {
		return crc32.ChecksumIEEE(fmt.Appendf(nil, "%s:%s:%s", class, workload, p.Name))
	}
	slices.SortStableFunc(all, func(a, b plan.Plan) int { return cmp.Compare(hash(a), hash(b)) })
	return all[:min(len(all), share)]
}

// reference is what two runs without faults have shown of a workload.
type reference struct {
	trace []plan.Point
	end   judge.EndState
}

func (c *campaign) refer(ctx context.Context, w workload.Workload) (reference, error) {
	var results [2]rig.Result
	for i := range results {
		results[i] = rig.Do(ctx, c.server, w, plan.Plan{}, nil, c.nextNamespace())
		if r := results[i]; r.Err != nil || len(r.Violations) > 0 {
			return reference{}, errors.Join(r.Err, fmt.Errorf("without faults: %q\n%s", r.Violations, r.Log))
		}
	}
	if differs := judge.L1(results[0].End, results[1].End); len(differs) > 0 {
		return reference{}, fmt.Errorf("two runs without faults end differently: %q", differs)
	}
	return reference{plan.Common(results[0].Trace, results[1].Trace), results[0].End}, nil
}

func (c *campaign) nextNamespace() string {
	return fmt.Sprintf("faults-%d-%d", os.Getpid(), c.namespaces.Add(1))
}

// check runs a plan.
func (c *campaign) check(t *testing.T, w workload.Workload, p plan.Plan, want judge.EndState) {
	t.Helper()
	began := time.Now()
	r := rig.Do(t.Context(), c.server, w, p, &want, c.nextNamespace())
	c.report.add(p.Class, r, time.Since(began))
	switch {
	case r.Err != nil:
		t.Fatalf("cannot be judged: %v\n%s", r.Err, r.Log)
	case len(r.Violations) > 0:
		t.Errorf("%s\nrepeat: make test-faults PLAN='%s'\n%s", strings.Join(r.Violations, "\n"), strings.TrimPrefix(t.Name(), "TestFaults/"), r.Log)
	case r.Missed:
		t.Skip("the run did not reach its point")
	}
}

// report counts what has become of the plans so far.
type report struct {
	began time.Time
	mu    sync.Mutex
	rows  map[plan.Class]row
}

type row struct {
	plans, failed, missed int
	took                  time.Duration
}

func (r *report) add(class plan.Class, result rig.Result, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range []plan.Class{class, "all"} {
		counts := r.rows[of]
		counts.plans++
		counts.took += took
		if result.Err != nil || len(result.Violations) > 0 {
			counts.failed++
		} else if result.Missed {
			counts.missed++
		}
		r.rows[of] = counts
	}
}

// showProgress prints the number of plans every minute until it is stopped.
func (r *report) showProgress() (stop func()) {
	tick := time.NewTicker(time.Minute)
	go func() {
		for range tick.C {
			fmt.Fprintln(os.Stderr, r)
		}
	}()
	return tick.Stop
}

// String is a table of the plans that ran.
func (r *report) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	table := "| class | plans | failed | missed | time |\n| --- | ---: | ---: | ---: | ---: |\n"
	for _, class := range append(slices.Clone(plan.Classes), "all") {
		counts := r.rows[class]
		table += fmt.Sprintf("| %s | %d | %d | %d | %s |\n", class, counts.plans, counts.failed, counts.missed, counts.took.Round(time.Second))
	}
	return table + fmt.Sprintf("\nAfter %s.\n", time.Since(r.began).Round(time.Second))
}

// write writes the table to a file.
func (r *report) write(t *testing.T, file string) {
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(r.String()), 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s(written to bin/faults.md)", r)
}
