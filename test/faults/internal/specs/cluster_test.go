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

	"mapcontroller.dev/snapshotschedule/test/faults/internal/world"
)

// On a cluster, as 'go -C hack/cluster run . run --no-csi' gives one. SPECS chooses
// plans by id.
func TestOnCluster(t *testing.T) {
	if os.Getenv(world.EnvClusterDir) == "" {
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
	cluster, err := world.Connect(t.Context(), root)
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
