// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/campaign"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// shortLives are few: the simulation's own tests live others.
const shortLives = 4

// TestShort runs the short form of the campaign, and sees that no class and no
// oracle was left without anything to judge.
func TestShort(t *testing.T) {
	if os.Getenv(environment.EnvClusterDir) == "" {
		t.Fatalf("%s is not set: this test needs a local cluster of its own. Run it with: make test-faults-short", environment.EnvClusterDir)
	}
	ctrl.SetLogger(logr.Discard())
	// A timeout of 'go test' and Ctrl-C leave no process behind.
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := campaign.New(clusterFor(ctx, t), campaign.Short(campaign.Options{
		Operator: operator(ctx, t), Parallel: 3 * runtime.NumCPU(), Seed: 1,
		Told: func(text string) { t.Log(text) },
	}))
	report, err := c.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.RunUntraced(ctx, report, shortLives); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + report.Table())
	for _, f := range report.Failures {
		t.Errorf("%s: %q %s\nagain: %s", f.Plan, f.Violations, f.Error, f.Again)
	}
	for _, row := range report.Rows {
		if row.Plans == 0 {
			t.Errorf("no plan of class %s came to its point", row.Class)
		}
	}
	for _, what := range campaign.Everything {
		if report.Seen[what] == 0 {
			t.Errorf("there was nothing to judge of this: %s", what)
		}
	}
}

func clusterFor(ctx context.Context, t *testing.T) *environment.Cluster {
	root, err := environment.Repository(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := environment.Connect(ctx, root)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func operator(ctx context.Context, t *testing.T) string {
	root, err := environment.Repository(ctx)
	if err != nil {
		t.Fatal(err)
	}
	path, err := environment.BuildOperator(ctx, root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}
