// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
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

	"mapcontroller.dev/snapshotschedule/test/bench/internal/lab"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
)

// bench is one run of the benchmarks.
type bench struct {
	size
	root, assets string
	// operator is the program that is measured.
	operator string
	manifest lab.Manifest
	progress io.Writer

	result report.Result
	group  string
}

// size says how much is measured.
type size struct {
	// claims is how many PVCs fall due at once.
	claims int
	// perClaim is how many snapshots each PVC has where memory is measured.
	perClaim int
	// rounds is how often what is compared is repeated.
	rounds int
	// restart is how many snapshots there are at a restart.
	restart int
	// expire is how many snapshots are expired at once.
	expire int
	// schedules is how many there are where many are measured.
	schedules int
	// firsts is how many new PVCs are awaited.
	firsts int
	// idle is how long no request may be seen.
	idle time.Duration
}

var (
	fullSize  = size{claims: 1000, perClaim: 40, rounds: 5, restart: 100_000, expire: 10_000, schedules: 100, firsts: 25, idle: time.Minute}
	quickSize = size{claims: 50, perClaim: 4, rounds: 1, restart: 1000, expire: 200, schedules: 5, firsts: 3, idle: 3 * time.Second}
)

func (s size) String() string {
	return fmt.Sprintf("%d PVCs, %d rounds of what is compared, %d snapshots at a restart", s.claims, s.rounds, s.restart)
}

// group is what shares an API server.
type group struct {
	name, about string
	// audit has requests logged, which costs the API server some speed.
	audit bool
	run   func(context.Context, *bench, *lab.Lab) error
}

// patience is for a single group, however slow the machine.
const patience = 15 * time.Minute

func (b *bench) run(ctx context.Context, groups []group) error {
	for i, g := range groups {
		b.group = g.name
		b.say("(%d of %d) %s", i+1, len(groups), g.about)
		if err := b.runGroup(ctx, g); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	return nil
}

func (b *bench) runGroup(ctx context.Context, g group) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took longer than %s", patience))
	defer cancel()
	l, err := lab.Start(ctx, lab.Options{Root: b.root, Assets: b.assets, Audit: g.audit})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Stop()) }()
	return g.run(ctx, b, l)
}

// say tells a person how far it is.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, "%s  %-9s  %s\n", time.Now().Format("15:04:05"), b.group, fmt.Sprintf(format, args...))
}

func (b *bench) row(r report.Row) {
	r.Group = b.group
	b.result.Rows = append(b.result.Rows, r)
}

func (b *bench) detail(t report.Table) { b.result.Details = append(b.result.Details, t) }

// choose picks groups by their names; none means all.
func choose(only string) ([]group, error) {
	if only == "" {
		return groups, nil
	}
	var chosen []group
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(groups, func(g group) bool { return g.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("there is no %q to run: choose from %s", name, groupNames())
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

// findRoot is the root of the repository, in or above the working directory.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "PROJECT")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("run the benchmarks inside the repository")
		}
		dir = parent
	}
}

// findAssets has etcd and kube-apiserver built if they are not.
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

// buildOperator builds the program as its image has it.
func buildOperator(ctx context.Context, root, dir string) (string, error) {
	path := filepath.Join(dir, "manager")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd: %w\n%s", err, out)
	}
	return path, nil
}
