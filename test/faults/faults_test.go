// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/campaign"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// simulations are few, because the simulation's own tests run others.
const simulations = 4

// TestShortCampaign runs the short form of the campaign, and fails if a class or an
// oracle has nothing to judge.
func TestShortCampaign(t *testing.T) {
	if os.Getenv(cluster.EnvDir) == "" {
		t.Fatalf("%s is not set: this test needs a local cluster; run it with: make test-faults-short", cluster.EnvDir)
	}
	ctrl.SetLogger(logr.Discard())
	// Without this, Ctrl-C and a timeout of 'go test' would leave processes behind.
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	operator, err := repo.BuildOperator(ctx, root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := environment.Connect(ctx, root)
	if err != nil {
		t.Fatal(err)
	}
	c := campaign.New(cluster, campaign.Short(campaign.Options{
		Operator: operator, Parallel: 3 * runtime.NumCPU(), Seed: 1,
		Log: func(text string) { t.Log(text) },
	}))
	report := c.NewReport()
	if err := c.RunStatic(ctx, report, simulations); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(ctx, report); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + report.Table())
	for _, f := range report.Failures {
		t.Errorf("%s: %q %s\nrepeat: %s", f.Plan, f.Violations, f.Error, f.Repeat)
	}
	for _, row := range report.Rows {
		if row.Plans == 0 {
			t.Errorf("no plan of class %s reached its point", row.Class)
		}
	}
	for _, what := range campaign.Required {
		if report.Coverage[what] == 0 {
			t.Errorf("the campaign contains no %s", what)
		}
	}
}
