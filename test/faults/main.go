// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// The fault campaign: runs the operator's program under planned faults against a
// real API server, and judges what came of it by the guarantees. See
// docs/faults.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
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
)

type flags struct {
	operator, workloads, classes, plans, output, write string
	limit, parallel, lives                             int
	seed                                               uint64
	idle                                               time.Duration
	list, first, short, least, verbose                 bool
}

func parseFlags() flags {
	var f flags
	flag.StringVar(&f.operator, "operator", "", "`program` to test; built from ./cmd if left out")
	flag.StringVar(&f.workloads, "workload", "", "`names` of workloads, with commas; all if left out")
	flag.StringVar(&f.classes, "class", "", "`names` of classes, with commas; all if left out")
	flag.StringVar(&f.plans, "plan", "", "`ids` of plans, with commas; one that ends in * stands for all that begin so")
	flag.IntVar(&f.limit, "limit", 0, "how many plans of each class to run at most; 0 is all")
	flag.IntVar(&f.lives, "lives", campaign.Lives, "how many lives to simulate in class lives")
	flag.IntVar(&f.parallel, "parallel", 3*runtime.NumCPU(), "how many runs there are at once")
	flag.Uint64Var(&f.seed, "seed", 1, "draws the pairs of faults")
	flag.DurationVar(&f.idle, "idle", time.Minute, "how long ends are watched in class idle")
	flag.StringVar(&f.output, "o", "", "json: the report for machines on stdout, all else on stderr")
	flag.StringVar(&f.write, "write", "", "`file` to write the report to, as Markdown")
	flag.BoolVar(&f.list, "list", false, "print the plans and run none")
	flag.BoolVar(&f.short, "short", false, "the fixed selection that 'make test' runs")
	flag.BoolVar(&f.least, "least", false, "as many plans of each class as are promised at least, and not all")
	flag.BoolVar(&f.verbose, "v", false, "tell what happened in runs that pass, too")
	flag.BoolVar(&f.first, "first", false, "stop at the first violation")
	flag.Parse()
	return f
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctrl.SetLogger(logr.Discard())
	err := run(ctx, parseFlags())
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, f flags) error {
	root, err := environment.Repository(ctx)
	if err != nil {
		return err
	}
	if os.Getenv(environment.EnvClusterDir) == "" {
		return inCluster(ctx, root)
	}
	if f.operator == "" {
		dir, err := os.MkdirTemp("", "snapsched-faults-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if f.operator, err = environment.BuildOperator(ctx, root, dir); err != nil {
			return err
		}
	}
	return play(ctx, root, f)
}

// inCluster runs this program again with a cluster of its own.
func inCluster(ctx context.Context, root string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	args := append([]string{"-C", "hack/cluster", "run", ".", "run", "--no-csi", "--chdir", here, "--", self}, os.Args[1:]...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Run(); err != nil {
		return errors.New("the campaign was failed, or could not be run: see above")
	}
	return nil
}

func split(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, ",")
}

func play(ctx context.Context, root string, f flags) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cluster, err := environment.Connect(ctx, root)
	if err != nil {
		return err
	}
	screen := newScreen(os.Stderr)
	options := campaign.Options{
		Operator: f.operator, Workloads: split(f.workloads), Plans: split(f.plans), Limit: f.limit,
		Parallel: f.parallel, Seed: f.seed, Idle: f.idle, StopAtFirst: f.first, Verbose: f.verbose,
		Told: screen.tell, Progress: screen.progress,
	}
	for _, class := range split(f.classes) {
		options.Classes = append(options.Classes, plan.Class(class))
	}
	switch {
	case f.short:
		options = campaign.Short(options)
	case f.least:
		options = campaign.Least(options)
	}
	c := campaign.New(cluster, options)
	if f.list {
		plans, err := c.List(ctx)
		for _, p := range plans {
			fmt.Println(p.ID)
		}
		return err
	}
	report, err := c.Run(ctx)
	if err == nil && !f.short && f.workloads == "" {
		err = c.RunUntraced(ctx, report, f.lives)
	}
	screen.end()
	if report == nil {
		return err
	}
	return errors.Join(err, hand(report, root, f))
}

func hand(report *campaign.Report, root string, f flags) error {
	if f.write != "" {
		page, err := os.ReadFile(f.write)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.WriteFile(f.write, []byte(report.Rewrite(string(page), root)), 0o644); err != nil {
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
		return fmt.Errorf("%d runs were failed", report.Failed)
	}
	return nil
}
