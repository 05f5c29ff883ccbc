// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// On a cluster, as 'go -C hack/cluster run . run --no-csi' gives one. SPECS chooses
// plans by id.
func TestOnCluster(t *testing.T) {
	if os.Getenv(environment.EnvClusterDir) == "" {
		t.Skip("no cluster: 'go run ./test/faults --class specs' runs the plans on one of its own")
	}
	ctrl.SetLogger(logr.Discard())
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cluster, err := environment.Connect(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Operator: program, Parallel: 24, Progress: func(r Result, _, _ int) {
		if !r.Passed {
			t.Errorf("%s: %s", r.ID, r.Why)
		}
	}}
	if chosen := os.Getenv("SPECS"); chosen != "" {
		o.Plans = strings.Split(chosen, ",")
	}
	began := time.Now()
	results, err := Run(t.Context(), cluster, o)
	if err != nil {
		t.Fatal(err)
	}
	slowest := slices.MaxFunc(results, func(a, b Result) int { return cmp.Compare(a.Took, b.Took) })
	t.Logf("%d plans in %s; the slowest, %s, took %s", len(results), time.Since(began).Round(time.Second), slowest.ID, slowest.Took)
}
