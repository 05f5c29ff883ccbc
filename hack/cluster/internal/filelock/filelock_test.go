// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package filelock

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestLockHasOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "lock")
	var holders atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			release, err := Acquire(t.Context(), path, func() {})
			if err != nil {
				t.Error(err)
				return
			}
			if n := holders.Add(1); n > 1 {
				t.Errorf("%d holders at once", n)
			}
			time.Sleep(5 * time.Millisecond)
			holders.Add(-1)
			release()
		})
	}
	wg.Wait()
}

func TestWaitIsReportedOnceAndEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release, err := Acquire(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	reports := 0
	if _, err := Acquire(ctx, path, func() { reports++ }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
	if reports != 1 {
		t.Errorf("reported %d times", reports)
	}
}
