// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-snapsched is the kubectl plugin "kubectl snapsched".
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	// Time zone data, because a user's machine may have none.
	_ "time/tzdata"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	// Auth plugins of kubeconfigs.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/utils/clock"

	"mapcontroller.dev/snapshotschedule/internal/cli"
)

func main() {
	// The program ends before its memory matters; simulations take a third less time.
	debug.SetGCPercent(400)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	os.Exit(cli.Run(ctx, os.Args[1:], streams, clock.RealClock{}))
}
