// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Mutants puts small defects into copies of the product, one at a time, and proves
// that the fault campaign finds every one, and nothing in the product as it is. See
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
	"slices"
	"strings"
	"syscall"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

type flags struct {
	mutants, output, write string
	parallel               int
	list, verbose          bool
	withoutClean           bool
}

func parseFlags() flags {
	var f flags
	flag.StringVar(&f.mutants, "mutant", "", "`names` of mutants, or how they begin, with commas; all if left out")
	flag.IntVar(&f.parallel, "parallel", 3*runtime.NumCPU(), "how many runs of the campaign there are at once")
	flag.StringVar(&f.output, "o", "", "json: the report for machines on stdout, all else on stderr")
	flag.StringVar(&f.write, "write", "", "`file` to write the table to, between its mutants' marks, as Markdown")
	flag.BoolVar(&f.list, "list", false, "print the mutants and run none")
	flag.BoolVar(&f.verbose, "v", false, "show what the campaign tells of each run that fails")
	flag.BoolVar(&f.withoutClean, "without-clean", false, "don't prove first that the product as it is passes the same plans")
	flag.Parse()
	return f
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, parseFlags()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, f flags) error {
	root, err := environment.Repository(ctx)
	if err != nil {
		return err
	}
	var names []string
	if f.mutants != "" {
		names = strings.Split(f.mutants, ",")
	}
	mutants, err := load(names...)
	if err != nil {
		return err
	}
	for _, m := range mutants { // before minutes are spent
		if _, err := m.mutated(root); err != nil {
			return err
		}
	}
	if f.list {
		for _, m := range mutants {
			fmt.Printf("%-28s %-8s %s\n", m.Name, strings.Join(m.Falls, ","), m.Breaks)
		}
		return nil
	}
	planned := slices.ContainsFunc(mutants, func(m *mutant) bool { return len(m.Plans) > 0 })
	if planned && os.Getenv(environment.EnvClusterDir) == "" {
		return inCluster(ctx, root)
	}
	return hunt(ctx, root, mutants, f)
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
		return errors.New("a mutant survived, the product as it is was failed, or nothing could be run: see above")
	}
	return nil
}

// hunt runs the product as it is, then each mutant, and reports.
func hunt(ctx context.Context, root string, mutants []*mutant, f flags) error {
	dir, err := os.MkdirTemp("", "snapsched-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	h := &hunter{root: root, dir: dir, parallel: f.parallel, verbose: f.verbose, told: os.Stderr}
	r := newReport()
	if !f.withoutClean {
		if r.Clean, err = h.clean(ctx, mutants); err != nil {
			return err
		}
		h.tell("the product as it is: %s", r.Clean.verdict())
	}
	for i, m := range mutants {
		s, err := h.hunt(ctx, m)
		if err != nil {
			return err
		}
		r.Mutants = append(r.Mutants, s)
		h.tell("%d/%d %s: %s", i+1, len(mutants), m.Name, s.verdict())
	}
	r.finish()
	return hand(r, root, f)
}

func hand(r *report, root string, f flags) error {
	if f.write != "" {
		if err := writeSection(f.write, r.markdown(root)); err != nil {
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
