// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Bench measures the operator's speed and size, beside the bare limit of a client on the same
// API server, and prints one table.
//
//	go run ./test/bench                               everything, in about ten minutes
//	go run ./test/bench --only fan-out --rounds 3     one group
//	go run ./test/bench --quick                       all with few objects, in a minute, to try it
//	go run ./test/bench --operator FILE               with a program that was built elsewhere
//	go run ./test/bench -o json                       as JSON
//	go run ./test/bench --write docs/performance.md   and write the tables of that page
//
// It runs in the repository, on Linux, with its own API server and etcd on the loopback. Missed targets
// fail no build: see docs/performance.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/bareclient"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/storm"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

type flags struct {
	only, operator, output, write string
	quick                         bool
	claims, rounds                int
	env                           []string
}

func parseFlags(args []string) (flags, error) {
	var f flags
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.StringVar(&f.only, "only", "", "The groups to run, separated by commas: "+groupNames()+" (default: all but million and storm).")
	set.IntVar(&f.claims, "pvcs", 0, "Number of PVCs that fall due at once (default 1000).")
	set.IntVar(&f.rounds, "rounds", 0, "How often comparisons are repeated (default 5).")
	set.BoolVar(&f.quick, "quick", false, "Run with few objects.")
	set.StringVar(&f.operator, "operator", "", "The operator's program (default: built from ./cmd).")
	set.StringVar(&f.output, "o", "table", "Output format: table or json.")
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
	switch {
	case set.NArg() > 0:
		return f, fmt.Errorf("unexpected argument %q", set.Arg(0))
	case f.output != "table" && f.output != "json":
		return f, fmt.Errorf("-o %q: must be table or json", f.output)
	case f.claims < 0 || f.rounds < 0:
		return f, errors.New("--pvcs and --rounds must be at least 1")
	}
	return f, nil
}

func (f flags) size() size {
	s := fullSize
	if f.quick {
		s = quickSize
	}
	if f.claims > 0 {
		s.claims, s.storm = f.claims, f.claims
	}
	if f.rounds > 0 {
		s.rounds = f.rounds
	}
	return s
}

func main() {
	bareclient.RunIfRequested(os.Args[1:])
	storm.RunIfRequested(os.Args[1:])
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	f, err := parseFlags(os.Args[1:])
	if err == nil {
		err = run(ctx, f, os.Stdout)
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

func run(ctx context.Context, f flags, out io.Writer) (err error) {
	chosen, err := choose(f.only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "snapsched-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b, err := prepare(ctx, f, dir)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := b.run(ctx, chosen); err != nil {
		return err
	}
	b.progressf("done in %s", time.Since(begun).Round(time.Second))
	return publish(f, b.result, out)
}

func prepare(ctx context.Context, f flags, dir string) (*bench, error) {
	root, err := repo.Root()
	if err != nil {
		return nil, err
	}
	b := &bench{size: f.size(), root: root, operator: f.operator, progress: os.Stderr, group: "prepare"}
	b.result.Machine, b.result.Settings = report.ThisMachine(), b.String()
	b.result.Machine.Day = time.Now().UTC().Format(time.DateOnly)
	if f.operator != "" {
		b.result.Machine.Commit += ", but an operator that was built elsewhere"
	}
	if b.assets, err = findAssets(ctx, root); err != nil {
		return nil, err
	}
	if b.manifest, err = server.ReadManifest(root); err != nil {
		return nil, err
	}
	if len(f.env) > 0 {
		b.manifest.Env = append(b.manifest.Env, f.env...)
		b.result.Settings += ", with " + strings.Join(f.env, " ")
	}
	if b.operator == "" {
		b.progressf("build the operator")
		if b.operator, err = repo.BuildOperator(ctx, root, dir); err != nil {
			return nil, err
		}
	}
	b.operator, err = filepath.Abs(b.operator)
	return b, err
}

func publish(f flags, r report.Result, out io.Writer) error {
	if f.write != "" {
		page, err := os.ReadFile(f.write)
		if err != nil {
			return err
		}
		text, err := report.IntoPage(string(page), r)
		if err != nil {
			return fmt.Errorf("%s: %w", f.write, err)
		}
		if err := os.WriteFile(f.write, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if f.output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	fmt.Fprintf(out, "\n%s\n%s\n\n", r.Machine, r.Settings)
	for _, t := range append(r.Details, r.Table()) {
		if err := t.Write(out); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	if missed := r.Missed(); missed > 0 {
		fmt.Fprintln(out, strconv.Itoa(missed)+" targets were not met.")
	}
	return nil
}
