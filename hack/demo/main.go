// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Demo plays SnapshotSchedule on a local cluster: PVCs, a schedule with short
// times, snapshots that come and expire, a PVC that is deleted, and garbage
// collection in the end. It checks what it shows.
//
// It exits with 0 if all checks hold, 1 if not, 2 for a usage error and 130 if
// interrupted. (go run turns all but 0 into 1.)
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/show"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/stage"
)

const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	o, err := parse(args, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitUsage
	}
	// What the client libraries have to say is about watches that end with the cluster.
	ctrl.SetLogger(logr.Discard())
	out := os.Stdout
	if o.output == "json" {
		out = os.Stderr
	}
	screen := show.On(out)
	defer screen.Settle()
	root, err := stage.FindRoot()
	if err != nil {
		screen.Print("error: %v", err)
		return exitFailed
	}
	if o.down {
		return takeDown(screen, root)
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	report := perform(ctx, screen, root, o.keep)
	if o.output == "json" {
		if err := report.write(os.Stdout); err != nil {
			screen.Print("error: %v", err)
			return exitFailed
		}
	}
	return report.exitCode()
}

func takeDown(screen *show.Screen, root string) int {
	was, err := stage.Down(root)
	switch {
	case err != nil:
		screen.Print("error: %v", err)
		return exitFailed
	case was:
		screen.Print("The demo is down: operator and cluster are stopped and removed.")
	default:
		screen.Print("No demo is kept here.")
	}
	return 0
}
