// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
)

// signals delivers the signals that end this program. "go run" forwards only those of
// the terminal, so the end of a parent go command counts as SIGTERM. Otherwise killing
// it would leave a cluster behind.
func signals() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	done := make(chan struct{})
	if parent := os.Getppid(); proc.CommandName(parent) == "go" {
		go func() {
			for os.Getppid() == parent {
				select {
				case <-done:
					return
				case <-time.After(250 * time.Millisecond):
				}
			}
			c <- syscall.SIGTERM
		}()
	}
	return c, func() { signal.Stop(c); close(done) }
}

// untilSignal returns a context that the first signal cancels. It ignores further
// signals, so that a second Ctrl-C does not interrupt the cleanup.
func untilSignal(ctx context.Context) (context.Context, func()) {
	c, stop := signals()
	ctx, cancel := cancelOnSignal(ctx, c)
	return ctx, func() { cancel(); stop() }
}

func cancelOnSignal(ctx context.Context, c <-chan os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-c:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
