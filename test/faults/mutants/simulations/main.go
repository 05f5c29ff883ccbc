// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Simulations runs seeds of the simulation until one breaks a guarantee, and prints each result as a line of JSON. The program of the
// mutants builds it again for each mutant.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim"
)

// result is the outcome of one seed.
type result struct {
	Seed       uint64   `json:"seed"`
	Oracles    []string `json:"oracles,omitempty"`
	Violations []string `json:"violations,omitempty"`
	// ByCache are what only the operator's cache allowed.
	ByCache []string `json:"byCache,omitempty"`
}

func main() {
	n := flag.Int("n", 1, "number of seeds, from 0 on")
	until := flag.String("until", "", "comma-separated guarantees: stop when one of these is broken; empty means any")
	flag.Parse()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	out := json.NewEncoder(os.Stdout)
	sim.RunMany(ctx, 0, *n, func(p sim.Progress) {
		r := result{Seed: p.Last.Seed, ByCache: texts(p.Last.ByCache), Violations: texts(p.Last.Violations)}
		for _, v := range p.Last.Violations {
			r.Oracles = append(r.Oracles, v.Oracle)
		}
		if r.breaksAny(*until) {
			stop()
		}
		if err := out.Encode(r); err != nil {
			fmt.Fprintln(os.Stderr, "simulations:", err)
			os.Exit(2)
		}
	})
}

func texts(all []oracle.Violation) (texts []string) {
	for _, v := range all {
		texts = append(texts, v.Oracle+": "+v.Message)
	}
	return texts
}

func (r result) breaksAny(guarantees string) bool {
	return slices.ContainsFunc(r.Oracles, func(o string) bool {
		return guarantees == "" || slices.Contains(strings.Split(guarantees, ","), o)
	})
}
