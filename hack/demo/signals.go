/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
