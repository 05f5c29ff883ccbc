// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Bench measures the operator's speed and size, beside the bare limit of a client on the same
// API server, and prints one table.
//
//	go run ./test/bench                               everything, in about ten minutes
//	go run ./test/bench --only fan-out --rounds 3     one of it
//	go run ./test/bench --quick                       a try, in a minute: its figures say little
//	go run ./test/bench --operator FILE               of a program that was built elsewhere
//	go run ./test/bench -o json                       for machines
//	go run ./test/bench --write docs/performance.md   and into that page
//
// It runs in the repository, on Linux. Requests go to an API server and etcd that it starts
// itself, on the loopback. What it finds fails no build: see docs/performance.md for how to read
// it.
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

	"mapcontroller.dev/snapshotschedule/test/bench/internal/lab"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
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
	set.StringVar(&f.only, "only", "", "What to run, with commas between: "+groupNames()+". Left out: all.")
	set.IntVar(&f.claims, "pvcs", 0, "How many PVCs fall due at once (default 1000).")
	set.IntVar(&f.rounds, "rounds", 0, "How often what is compared is repeated (default 5).")
	set.BoolVar(&f.quick, "quick", false, "Try everything with few objects.")
	set.StringVar(&f.operator, "operator", "", "The operator's program. Left out, it is built from ./cmd.")
	set.StringVar(&f.output, "o", "table", "table or json.")
	set.StringVar(&f.write, "write", "", "A page to write the tables into, between its markers.")
	set.Func("env", "A variable for the operator, such as GOGC=50, on top of the manifest's. May be given again.", func(e string) error {
		if !strings.Contains(e, "=") {
			return errors.New("write it as NAME=VALUE")
		}
		f.env = append(f.env, e)
		return nil
	})
	if err := set.Parse(args); err != nil {
		return f, err
	}
	switch {
	case set.NArg() > 0:
		return f, fmt.Errorf("%q is no flag", set.Arg(0))
	case f.output != "table" && f.output != "json":
		return f, fmt.Errorf("-o is %q: give table or json", f.output)
	case f.claims < 0 || f.rounds < 0:
		return f, errors.New("--pvcs and --rounds are at least 1")
	}
	return f, nil
}

func (f flags) size() size {
	s := fullSize
	if f.quick {
		s = quickSize
	}
	if f.claims > 0 {
		s.claims = f.claims
	}
	if f.rounds > 0 {
		s.rounds = f.rounds
	}
	return s
}

func main() {
	lab.BecomePart()
	lab.BecomeBare(os.Args[1:])
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
	b.say("done in %s", time.Since(begun).Round(time.Second))
	return publish(f, b.result, out)
}

func prepare(ctx context.Context, f flags, dir string) (*bench, error) {
	root, err := findRoot()
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
	if b.manifest, err = lab.ReadManifest(root); err != nil {
		return nil, err
	}
	if len(f.env) > 0 {
		b.manifest.Env = append(b.manifest.Env, f.env...)
		b.result.Settings += ", with " + strings.Join(f.env, " ")
	}
	if b.operator == "" {
		b.say("build the operator")
		if b.operator, err = buildOperator(ctx, root, dir); err != nil {
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
		fmt.Fprintln(out, strconv.Itoa(missed)+" of the targets were not met.")
	}
	return nil
}
