// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Bench measures the operator's speed and size, beside the bare limit of a client on the same
// API server, and prints tables.
//
//	go run ./test/bench                               everything, in about ten minutes
//	go run ./test/bench --only fan-out --rounds 3     one group
//	go run ./test/bench --quick                       all with few objects, in a minute, to try it
//	go run ./test/bench --operator FILE               with a program that was built elsewhere
//	go run ./test/bench -o bench                      in the format that benchstat compares
//	go run ./test/bench --write docs/contribute/results.md   and write the tables of that page
//
// It runs in the repository, on Linux, with its own API server and etcd on the loopback, whose programs are in
// $KUBEBUILDER_ASSETS ("make bench" builds them). Missed targets fail no build: see docs/contribute/results.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/bareclient"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// bench is one run of the benchmarks.
type bench struct {
	size
	root, assets string
	// operator is the program that is measured.
	operator string
	manifest manifest
	// server is that of the present group.
	server *server
	result results
	// stopped is why processes could not be stopped.
	stopped error
}

// size is how much is measured.
type size struct {
	// claims is how many PVCs fall due at once.
	claims int
	// snapshotsPerClaim is the number of snapshots of each PVC when memory is measured.
	snapshotsPerClaim int
	// rounds is how often comparisons are repeated.
	rounds int
	// restart is the number of snapshots at a restart, and expire of those that expire at once.
	restart, expire int
	// schedules is the number of schedules over the same PVCs.
	schedules int
	// newClaims is the number of PVCs that are created one after another.
	newClaims int
	// idle is the time without requests.
	idle time.Duration
}

var (
	fullSize  = size{claims: 1000, snapshotsPerClaim: 40, rounds: 5, restart: 100_000, expire: 10_000, schedules: 100, newClaims: 25, idle: time.Minute}
	quickSize = size{claims: 50, snapshotsPerClaim: 4, rounds: 1, restart: 1000, expire: 200, schedules: 5, newClaims: 3, idle: 3 * time.Second}
)

// group is a set of measurements on one API server.
type group struct {
	name, about string
	// audit makes the API server log requests, which costs it some speed.
	audit bool
	run   func(context.Context, *bench)
}

// groups are run and printed in this order.
var groups = []group{
	{name: "fan-out", about: "many PVCs fall due at once, compared with a loop of creates", run: fanOut},
	{name: "requests", about: "requests per snapshot and when idle", audit: true, run: requests},
	{name: "size", about: "memory with more and more snapshots, and a restart compared with a list", run: sizes},
	{name: "new-pvc", about: "the first snapshot of a new PVC among many", run: newClaims},
	{name: "expiry", about: "thousands of snapshots expire at once", audit: true, run: expiry},
	{name: "schedules", about: "many schedules over the same PVCs", run: manySchedules},
}

type flags struct {
	only                    []group
	operator, output, write string
	size                    size
	env                     []string
}

func parseFlags(args []string) (flags, error) {
	f := flags{only: groups}
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	set.Func("only", "The `groups` to run, separated by commas: "+strings.Join(names, ", ")+" (default: all).", func(list string) error {
		f.only = nil
		for name := range strings.SplitSeq(list, ",") {
			i := slices.Index(names, strings.TrimSpace(name))
			if i < 0 {
				return fmt.Errorf("there is no group %q: choose from %s", name, strings.Join(names, ", "))
			}
			f.only = append(f.only, groups[i])
		}
		return nil
	})
	rounds := set.Uint("rounds", 0, "How often comparisons are repeated (default 5).")
	quick := set.Bool("quick", false, "Run with few objects.")
	set.StringVar(&f.operator, "operator", "", "The operator's program (default: built from ./cmd).")
	set.StringVar(&f.output, "o", "table", "Output format: table, or bench for benchstat.")
	set.StringVar(&f.write, "write", "", "A page to write the tables to, between its markers.")
	set.Func("env", "An environment variable for the operator, such as GOGC=50, in addition to the manifest's. Can be repeated.", func(e string) error {
		if !strings.Contains(e, "=") {
			return errors.New("must be NAME=VALUE")
		}
		f.env = append(f.env, e)
		return nil
	})
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	if f.output != "table" && f.output != "bench" {
		return f, fmt.Errorf("-o %q: must be table or bench", f.output)
	}
	f.size = fullSize
	if *quick {
		f.size = quickSize
	}
	if *rounds > 0 {
		f.size.rounds = int(*rounds)
	}
	return f, nil
}

func main() {
	bareclient.RunIfRequested(os.Args[1:])
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	f, err := parseFlags(os.Args[1:])
	if err == nil {
		err = run(ctx, f)
	}
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, f flags) (err error) {
	dir, err := os.MkdirTemp("", "snapsched-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	begun := time.Now()
	b, err := prepare(ctx, f, dir)
	if err != nil {
		return err
	}
	for i, g := range f.only {
		b.result.group = g.name
		b.progressf("(%d of %d) %s", i+1, len(f.only), g.about)
		if err := b.runGroup(ctx, g); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	b.progressf("done in %s", time.Since(begun).Round(time.Second))
	return publish(f, &b.result, os.Stdout)
}

func prepare(ctx context.Context, f flags, dir string) (b *bench, err error) {
	b = &bench{size: f.size, operator: f.operator, result: results{group: "prepare"}}
	if b.root, err = repo.Root(); err != nil {
		return nil, err
	}
	b.result.describe(strings.TrimSpace(fmt.Sprintf("%d PVCs and %d rounds and %d snapshots at a restart %s", b.claims, b.rounds, b.restart,
		strings.Join(append(slices.Clone(f.env), f.operator), " "))))
	if b.assets = os.Getenv("KUBEBUILDER_ASSETS"); b.assets == "" {
		return nil, errors.New("KUBEBUILDER_ASSETS is not set: use make bench, or set it to what 'bin/cluster assets' prints")
	}
	if b.manifest, err = readManifest(b.root); err != nil {
		return nil, err
	}
	b.manifest.env = append(b.manifest.env, f.env...)
	if b.operator == "" {
		b.progressf("build the operator")
		if b.operator, err = repo.BuildOperator(ctx, b.root, dir); err != nil {
			return nil, err
		}
	}
	b.operator, err = filepath.Abs(b.operator)
	return b, err
}

// groupTimeout is generous: machines differ.
const groupTimeout = 15 * time.Minute

func (b *bench) runGroup(ctx context.Context, g group) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, groupTimeout, fmt.Errorf("it took longer than %s", groupTimeout))
	defer cancel()
	b.server = &server{}
	if b.server.dir, err = os.MkdirTemp("", "snapsched-bench-"); err != nil {
		return err
	}
	defer func() {
		problem := recover()
		failed, ok := problem.(failure)
		if problem != nil && !ok {
			panic(problem)
		}
		err = errors.Join(failed.error, b.stopped)
		if stopErr := b.server.stop(); stopErr != nil { // it was killed; what was measured is valid
			b.progressf("%v", stopErr)
		}
	}()
	b.server.start(ctx, b.root, b.assets, g.audit)
	g.run(ctx, b)
	return nil
}

// failure ends a group.
type failure struct{ error }

// must ends the group with an error: what was measured after one would mean nothing.
func must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// value returns a value unless there is an error, which ends the group.
func value[T any](v T, err error) T {
	must(err)
	return v
}

// stop stops a process, which must exit 0, or the group fails.
func (b *bench) stop(p *program) { b.stopped = errors.Join(b.stopped, p.Stop(20*time.Second)) }

// progressf reports progress.
func (b *bench) progressf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %-9s  %s\n", time.Now().Format("15:04:05"), b.result.group, fmt.Sprintf(format, args...))
}

func publish(f flags, r *results, out io.Writer) error {
	if f.write != "" {
		page, err := os.ReadFile(f.write)
		if err != nil {
			return err
		}
		text, err := r.intoPage(string(page))
		if err != nil {
			return fmt.Errorf("%s: %w", f.write, err)
		}
		if err := os.WriteFile(f.write, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if f.output == "bench" {
		return r.benchmarks(out)
	}
	_, err := io.WriteString(out, r.markdown())
	return err
}
