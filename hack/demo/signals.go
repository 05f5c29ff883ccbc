// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

var errInterrupted = errors.New("interrupted")

// untilSignal gives a context that ends, with errInterrupted as its cause, when
// this program is asked to. Later signals change nothing: it is on its way.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	asked := make(chan os.Signal, 8)
	signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-asked:
		case <-orphaned(ctx):
		case <-ctx.Done():
		}
		cancel(errInterrupted)
	}()
	return ctx, func() {
		signal.Stop(asked)
		cancel(nil)
	}
}

// orphaned is closed when "go run", which passes no signals on, has been killed.
func orphaned(ctx context.Context) <-chan struct{} {
	parent := os.Getppid()
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", parent))
	if err != nil || strings.TrimSpace(string(name)) != "go" {
		return nil
	}
	gone := make(chan struct{})
	go func() {
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for os.Getppid() == parent {
			select {
			case <-every.C:
			case <-ctx.Done():
				return
			}
		}
		close(gone)
	}()
	return gone
}
