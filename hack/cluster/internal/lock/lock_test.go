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
