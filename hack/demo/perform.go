// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/show"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/stage"
)

// perform builds, plays, and cleans up, whatever happens.
func perform(ctx context.Context, screen *show.Screen, root string, keep bool) *report {
	r := &report{}
	build := stage.Temporary
	if keep {
		build = stage.Kept
	}
	set, err := build(root)
	if err != nil {
		r.end(err, 0)
		screen.Print("error: %v", err)
		if errors.Is(err, stage.ErrKept) {
			screen.Print("Stop it first: make demo-down")
		}
		return r
	}
	screen.Print("Building the local cluster and the operator: minutes the first time, then it is cached.")
	started := time.Now()
	err = set.Build(ctx)
	built := time.Now()
	if err == nil {
		screen.Done("built", built.Sub(started))
		p := &play{set: set, screen: screen, seen: record.New(time.Now), report: r, started: built}
		err = p.play(ctx)
	}
	finish(screen, set, r, err, built)
	return r
}

// finish takes down what is not to stay, and tells the outcome.
func finish(screen *show.Screen, set *stage.Stage, r *report, err error, built time.Time) {
	interrupted := errors.Is(err, errInterrupted)
	switch {
	case interrupted:
		screen.Print("\n   interrupted")
	case err != nil && !errors.Is(err, errCheck):
		screen.Print("   %s %v", screen.Red("✗ failed:"), err)
	}
	stays := set.Keep && !interrupted && set.Running()
	if !stays {
		err = takeAway(screen, set, err)
	}
	r.end(err, time.Since(built))
	if logs := set.Logs(); len(logs) > 0 {
		r.Logs = set.Dir
		outcome(screen, r, logs)
	} else {
		outcome(screen, r, nil)
	}
	if stays {
		leave(screen)
	}
}

// takeAway stops and removes everything; of a play that failed it leaves the logs.
func takeAway(screen *show.Screen, set *stage.Stage, err error) error {
	screen.Act(7, "Everything is removed again")
	began := time.Now()
	closed := set.Close()
	interrupted := errors.Is(err, errInterrupted)
	if interrupted && !set.Keep {
		closed = nil // Ctrl-C reaches the cluster too, which then ends with a code of its own
	}
	if closed == nil {
		screen.Done("operator and cluster are stopped", time.Since(began))
	} else {
		closed = fmt.Errorf("stop operator and cluster: %w", closed)
		screen.Print("   %s %v", screen.Red("✗ failed:"), closed)
		err = errors.Join(err, closed)
	}
	if closed == nil && (err == nil || interrupted || len(set.Logs()) == 0) {
		err = errors.Join(err, set.Remove())
	}
	return err
}

// outcome is the last word about the play.
func outcome(screen *show.Screen, r *report, logs []string) {
	took := show.Elapsed(time.Duration(r.Seconds * float64(time.Second)))
	switch {
	case r.OK:
		screen.Print("\n%s", screen.Green(screen.Bold(fmt.Sprintf("All %d checks hold. The play took %s.", len(r.Checks), took))))
		return
	case errors.Is(r.err, errInterrupted):
		screen.Print("\nInterrupted after %s.", took)
		return
	}
	screen.Print("\n%s", screen.Red("The demo failed after "+took+"."))
	if len(logs) > 0 {
		screen.Print("What the programs had to say:\n%s", show.Indent(strings.Join(logs, "\n"), "   "))
	}
}

// leave says how to use what stays.
func leave(screen *show.Screen) {
	screen.Print(`
The cluster and the operator go on. In this folder:

   eval "$(go -C hack/cluster run . env --dir %[1]s)"
   kubectl get snapsched -n demo -w
   kubectl get volumesnapshots -n demo -w
   kubectl explain snapsched.spec

Snapshots come and go for as long as they run, and the cluster's audit log grows
by a MB a minute. To stop and remove everything:

   make demo-down`, stage.KeptCluster)
}
