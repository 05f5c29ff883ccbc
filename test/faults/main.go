// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Faults is the fault campaign: it runs the operator under planned faults against a
// real API server, and judges each run by the guarantees. See docs/faults.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/campaign"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

type flags struct {
	campaign.Options

	workloads, classes, plans, output, write string
	simulations                              int
	list, short                              bool
}

func parseFlags() flags {
	var f flags
	flag.StringVar(&f.Operator, "operator", "", "`program` under test (default: build ./cmd)")
	flag.StringVar(&f.workloads, "workload", "", "comma-separated `names` of workloads (default: all)")
	flag.StringVar(&f.classes, "class", "", "comma-separated `names` of classes (default: all)")
	flag.StringVar(&f.plans, "plan", "", "comma-separated `IDs` of plans, in which * stands for any text (default: all)")
	flag.IntVar(&f.Limit, "limit", 0, "maximum number of plans of each class (0: all)")
	flag.IntVar(&f.simulations, "simulations", campaign.Simulations, "number of simulations in class simulation")
	flag.IntVar(&f.Parallel, "parallel", 8*runtime.NumCPU(), "number of concurrent runs, which mostly wait")
	flag.Uint64Var(&f.Seed, "seed", 1, "seed of the pairs of faults, and the first seed of class simulation")
	flag.DurationVar(&f.Idle, "idle", time.Minute, "how long end states are observed in class idle")
	flag.StringVar(&f.output, "o", "", "json: print the report as JSON to stdout, and everything else to stderr")
	flag.StringVar(&f.write, "write", "", "`file` in which to replace the report's section, as Markdown")
	flag.BoolVar(&f.list, "list", false, "print the plans without running them")
	flag.BoolVar(&f.short, "short", false, "run the fixed selection of 'make test'")
	flag.BoolVar(&f.Verbose, "v", false, "print the history of runs that pass, too")
	flag.BoolVar(&f.StopAtFirst, "first", false, "stop at the first violation")
	flag.Parse()
	f.Workloads, f.Plans = split(f.workloads), split(f.plans)
	for _, class := range split(f.classes) {
		f.Classes = append(f.Classes, plan.Class(class))
	}
	return f
}

func split(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, ",")
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctrl.SetLogger(logr.Discard())
	if err := run(ctx, parseFlags()); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, f flags) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	if os.Getenv(cluster.EnvDir) == "" {
		return campaign.RunInCluster(ctx, root)
	}
	if f.Operator == "" {
		dir, err := os.MkdirTemp("", "snapsched-faults-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if f.Operator, err = repo.BuildOperator(ctx, root, dir); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cluster, err := environment.Connect(ctx, root)
	if err != nil {
		return err
	}
	return runCampaign(ctx, cluster, root, f)
}

func runCampaign(ctx context.Context, cluster *environment.Cluster, root string, f flags) error {
	p := newProgress(os.Stderr)
	f.Log, f.Progress = p.print, p.update
	options := f.Options
	if f.short {
		options = campaign.Short(options)
	}
	c := campaign.New(cluster, options)
	if f.list {
		plans, err := c.List(ctx)
		for _, p := range plans {
			fmt.Println(p.ID)
		}
		return err
	}
	report := c.NewReport()
	var err error
	if !f.short && f.workloads == "" {
		err = c.RunStatic(ctx, report, f.simulations)
	}
	if err == nil {
		err = c.Run(ctx, report)
	}
	p.clear()
	if err != nil {
		f.write = "" // keep the report of the last campaign that finished
	}
	return errors.Join(err, publish(report, root, f))
}

func publish(report *campaign.Report, root string, f flags) error {
	if f.write != "" {
		if err := campaign.WriteSection(f.write, "campaign", "make test-faults", report.Markdown(root)); err != nil {
			return err
		}
	}
	if f.output == "json" {
		if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
			return err
		}
	} else {
		fmt.Println(report.Table())
	}
	if report.Failed > 0 {
		return fmt.Errorf("%d runs failed", report.Failed)
	}
	return nil
}
