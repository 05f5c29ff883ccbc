// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
)

// bench is one run of the benchmarks.
type bench struct {
	size
	root, assets string
	// operator is the program that is measured.
	operator string
	manifest server.Manifest
	progress io.Writer

	result report.Result
	group  string
}

// size is how much is measured.
type size struct {
	// claims is how many PVCs fall due at once.
	claims int
	// snapshotsPerClaim is the number of snapshots of each PVC when memory is measured.
	snapshotsPerClaim int
	// rounds is how often comparisons are repeated.
	rounds int
	// restart is the number of snapshots at a restart.
	restart int
	// expire is the number of snapshots that expire at once.
	expire int
	// schedules is the number of schedules over the same PVCs.
	schedules int
	// newClaims is the number of PVCs that are created one after another.
	newClaims int
	// crowd is who has a million snapshots.
	crowd crowd
	// storm is how many PVCs fall due at once on a real snapshot stack.
	storm int
	// idle is the time without requests.
	idle time.Duration
}

var (
	fullSize  = size{claims: 1000, snapshotsPerClaim: 40, rounds: 5, restart: 100_000, expire: 10_000, schedules: 100, newClaims: 25, crowd: crowd{50, 5}, storm: 450, idle: time.Minute}
	quickSize = size{claims: 50, snapshotsPerClaim: 4, rounds: 1, restart: 1000, expire: 200, schedules: 5, newClaims: 3, crowd: crowd{2, 2}, storm: 6, idle: 3 * time.Second}
)

func (s size) String() string {
	return fmt.Sprintf("%d PVCs, %d rounds of what is compared, %d snapshots at a restart", s.claims, s.rounds, s.restart)
}

// group is a set of measurements on one API server.
type group struct {
	name, about string
	// audit makes the API server log requests, which costs it some speed.
	audit bool
	// onDemand is set for what runs only if it is named, and timeout for what takes
	// longer than groupTimeout.
	onDemand bool
	timeout  time.Duration
	// uncached is set for more objects than the API server's watch cache can hold here.
	uncached bool
	// ownCluster is set for what starts clusters of its own.
	ownCluster bool
	run        func(context.Context, *bench, *server.Server) error
}

// groupTimeout is generous: machines differ.
const groupTimeout = 15 * time.Minute

func (b *bench) run(ctx context.Context, groups []group) error {
	for i, g := range groups {
		b.group = g.name
		b.progressf("(%d of %d) %s", i+1, len(groups), g.about)
		if err := b.runGroup(ctx, g); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	return nil
}

func (b *bench) runGroup(ctx context.Context, g group) (err error) {
	timeout := cmp.Or(g.timeout, groupTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %s", timeout))
	defer cancel()
	if g.ownCluster {
		return g.run(ctx, b, nil)
	}
	srv, err := server.Start(ctx, server.Options{Root: b.root, Assets: b.assets, Audit: g.audit, Uncached: g.uncached})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Stop()) }()
	return g.run(ctx, b, srv)
}

// progressf reports progress.
func (b *bench) progressf(format string, args ...any) {
	fmt.Fprintf(b.progress, "%s  %-9s  %s\n", time.Now().Format("15:04:05"), b.group, fmt.Sprintf(format, args...))
}

func (b *bench) row(r report.Row) {
	r.Group = b.group
	b.result.Rows = append(b.result.Rows, r)
}

func (b *bench) detail(t report.Table) { b.result.Details = append(b.result.Details, t) }

// choose returns the groups with some names; without names, all but those on demand.
func choose(only string) ([]group, error) {
	if only == "" {
		return slices.DeleteFunc(slices.Clone(groups), func(g group) bool { return g.onDemand }), nil
	}
	var chosen []group
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(groups, func(g group) bool { return g.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("there is no group %q: choose from %s", name, groupNames())
		}
		chosen = append(chosen, groups[i])
	}
	return chosen, nil
}

func groupNames() string {
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	return strings.Join(names, ", ")
}

// findAssets returns the folder of etcd and kube-apiserver, which are built if necessary.
func findAssets(ctx context.Context, root string) (string, error) {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return assets, nil
	}
	cmd := exec.CommandContext(ctx, "go", "run", ".", "assets")
	cmd.Dir, cmd.Stderr = filepath.Join(root, "hack", "cluster"), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go -C hack/cluster run . assets: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
