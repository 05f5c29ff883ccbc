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

// signals delivers what asks this program to end. "go run" passes on no
// signal but those of the terminal, so when a go command started us and is
// gone, that counts as a SIGTERM: else killing it would leave a cluster behind.
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

// untilSignal ends the context when one arrives. Later ones are swallowed, so
// that an impatient second Ctrl-C doesn't cut the cleaning up short.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	c, stop := signals()
	go func() {
		select {
		case <-c:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); stop() }
}
