// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Mutants proves that the tests find defects: it tries small defects of the product, the mutants, against
// one suite of tests after the other, until one fails. See docs/faults.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

type flags struct {
	mutants, write, suites string
	list, check            bool
}

func parseFlags() flags {
	var f flags
	flag.StringVar(&f.mutants, "mutant", "", "comma-separated `prefixes` of mutants' names (default: all)")
	flag.StringVar(&f.suites, "suites", "", "try only these comma-separated `suites`, in their order: "+strings.Join(suiteNames(), ", ")+
		" (integration needs KUBEBUILDER_ASSETS)")
	flag.StringVar(&f.write, "write", "", "`file` with the table of the mutants, in which to replace the rows of those that were tried")
	flag.BoolVar(&f.list, "list", false, "print the mutants without trying them")
	flag.BoolVar(&f.check, "check", false, "print for every mutant whether its patch applies and compiles, without trying any")
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
	names := suiteNames()
	if f.suites != "" {
		names = strings.Split(f.suites, ",")
	}
	return matrix(ctx, root, mutants, names, f.write)
}
