// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestOnlyOneHoldsIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "lock")
	var inside, most atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			release, err := Take(t.Context(), path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if n := inside.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(5 * time.Millisecond)
			inside.Add(-1)
			release()
		})
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d held the lock at once", most.Load())
	}
}

func TestWaitingIsToldOnceAndEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release, err := Take(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	told := 0
	if _, err := Take(ctx, path, func() { told++ }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}
