// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Mutants proves that the fault campaign finds defects: it builds the product with
// one small defect at a time, a mutant, and runs the plans or simulations that must
// find it. They must find nothing in the product as it is. See docs/faults.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/campaign"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

type flags struct {
	mutants, output, write, suites string
	parallel                       int
	list, check, verbose           bool
	skipBaseline                   bool
}

func parseFlags() flags {
	var f flags
	flag.StringVar(&f.mutants, "mutant", "", "comma-separated `prefixes` of mutants' names (default: all)")
	flag.IntVar(&f.parallel, "parallel", 3*runtime.NumCPU(), "number of concurrent runs of the campaign")
	flag.StringVar(&f.output, "o", "", "json: print the report as JSON to stdout, and everything else to stderr")
	flag.StringVar(&f.write, "write", "", "`file` in which to replace the mutants' section, as Markdown")
	flag.StringVar(&f.suites, "suites", "", "try the mutants against comma-separated `suites` of go test, one after the other: unit, engine, "+
		"integration (KUBEBUILDER_ASSETS must be set), faults; print a line of JSON for each mutant")
	flag.BoolVar(&f.list, "list", false, "print the mutants without running them")
	flag.BoolVar(&f.check, "check", false, "print for every mutant whether its patch applies and compiles, without running any")
	flag.BoolVar(&f.verbose, "v", false, "print the campaign's output for runs that fail")
	flag.BoolVar(&f.skipBaseline, "skip-baseline", false, "do not run the same plans on the product as it is first")
	flag.Parse()
	return f
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runWith(ctx, parseFlags()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func runWith(ctx context.Context, f flags) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	var prefixes []string
	if f.mutants != "" {
		prefixes = strings.Split(f.mutants, ",")
	}
	mutants, err := load(prefixes...)
	if err != nil {
		return err
	}
	if f.list {
		for _, m := range mutants {
			fmt.Printf("%-34s %-8s %s\n", m.Name, strings.Join(m.Guarantees, ","), m.Defect)
		}
		return nil
	}
	if f.check {
		return checkAll(ctx, root, mutants, os.Stdout)
	}
	for _, m := range mutants { // fail before minutes are spent
		if _, err := m.mutated(root); err != nil {
			return err
		}
	}
	if f.suites != "" && (!strings.Contains(f.suites, "faults") || os.Getenv(cluster.EnvDir) != "") {
		return matrix(ctx, root, mutants, strings.Split(f.suites, ","))
	}
	planned := f.suites != "" || slices.ContainsFunc(mutants, func(m *mutant) bool { return len(m.Plans) > 0 })
	if planned && os.Getenv(cluster.EnvDir) == "" {
		return campaign.RunInCluster(ctx, root)
	}
	return runAll(ctx, root, mutants, f)
}

// runAll runs the product as it is, then each mutant, and publishes the report.
func runAll(ctx context.Context, root string, mutants []*mutant, f flags) error {
	dir, err := os.MkdirTemp("", "snapsched-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	runner := &runner{root: root, dir: dir, parallel: f.parallel, verbose: f.verbose, log: os.Stderr}
	r := newReport()
	if !f.skipBaseline {
		if r.Baseline, err = runner.baseline(ctx, mutants); err != nil {
			return err
		}
		runner.logf("Product without mutants: %s", r.Baseline.verdict())
	}
	for i, m := range mutants {
		o, err := runner.run(ctx, m)
		if err != nil {
			return err
		}
		r.Mutants = append(r.Mutants, o)
		runner.logf("%d/%d %s: %s", i+1, len(mutants), m.Name, o.verdict())
	}
	r.finish()
	if f.write != "" {
		if err := campaign.WriteSection(f.write, "mutants", "make test-mutants", r.markdown(root)); err != nil {
			return err
		}
	}
	if f.output == "json" {
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return err
		}
	} else {
		fmt.Println(r.table())
	}
	return r.err()
}
