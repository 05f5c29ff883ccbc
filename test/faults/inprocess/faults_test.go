// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// runs counts the namespaces.
var runs atomic.Int64

func nextNamespace() string { return fmt.Sprintf("rig-%d-%d", os.Getpid(), runs.Add(1)) }

// idleTime is how long the end states of class idle are observed.
const idleTime = 15 * time.Second

// TestFaults runs a workload with the faults of every plan: go test -run 'Faults/<class>/<workload>/<point and action>'.
func TestFaults(t *testing.T) {
	if os.Getenv(cluster.EnvDir) == "" {
		t.Skip("it needs a local cluster")
	}
	ctrl.SetLogger(logr.Discard())
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	server, err := environment.Connect(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer showProgress()()
	references := map[string]func() (reference, error){}
	for _, w := range workload.All() {
		references[w.Name] = sync.OnceValues(func() (reference, error) { return refer(context.WithoutCancel(t.Context()), server, w) })
	}
	for _, class := range plan.Classes {
		t.Run(string(class), func(t *testing.T) {
			for i, w := range workload.All() {
				t.Run(w.Name, func(t *testing.T) {
					t.Parallel()
					ref, err := references[w.Name]()
					if err != nil {
						t.Fatal(err)
					}
					for _, p := range ref.Plans(class, plan.Options{Seed: 1, Idle: idleTime, Discovery: i == 0}) {
						t.Run(strings.TrimPrefix(p.ID, string(class)+":"+w.Name+":"), func(t *testing.T) {
							t.Parallel()
							check(t, rig.Do(t.Context(), server, w, p, &ref.end, nextNamespace()))
						})
					}
				})
			}
		})
	}
}

// ended, failed and missed count plans.
var ended, failed, missed atomic.Int64

// showProgress prints a line every minute until it is stopped.
func showProgress() (stop func()) {
	began, tick := time.Now(), time.NewTicker(time.Minute)
	go func() {
		for range tick.C {
			fmt.Fprintf(os.Stderr, "%s: %d plans, %d failed, %d did not reach their points\n",
				time.Since(began).Round(time.Second), ended.Load(), failed.Load(), missed.Load())
		}
	}()
	return tick.Stop
}

// reference is what two runs without faults have shown of a workload.
type reference struct {
	plan.Reference
	end judge.EndState
}

func refer(ctx context.Context, server *environment.Cluster, w workload.Workload) (reference, error) {
	var results [2]rig.Result
	for i := range results {
		results[i] = rig.Do(ctx, server, w, plan.Plan{Workload: w.Name}, nil, nextNamespace())
		if r := results[i]; r.Err != nil || len(r.Violations) > 0 {
			return reference{}, errors.Join(r.Err, fmt.Errorf("without faults: %q\n%s", r.Violations, r.Log))
		}
	}
	for _, v := range judge.L1(results[0].End, results[1].End) {
		return reference{}, fmt.Errorf("two runs without faults end differently: %s", v)
	}
	return reference{end: results[0].End, Reference: plan.Reference{
		Workload: w.Name, Trace: results[0].Trace.Common(results[1].Trace), Deletes: w.Deletes, Uncut: w.Uncut, Imports: w.Imports,
	}}, nil
}

func check(t *testing.T, r rig.Result) {
	t.Helper()
	ended.Add(1)
	switch {
	case r.Err != nil:
		failed.Add(1)
		t.Fatalf("cannot be judged: %v\n%s", r.Err, r.Log)
	case len(r.Violations) > 0:
		failed.Add(1)
		t.Errorf("%s\n%s", strings.Join(r.Violations, "\n"), r.Log)
	case len(r.Missed) > 0:
		missed.Add(1)
		t.Skipf("the run did not reach %v", r.Missed)
	}
}
