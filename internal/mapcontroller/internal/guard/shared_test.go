// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"mapcontroller.dev/snapshotschedule/internal/transport"
)

var testNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Contract: GUARD-6.
func TestSharedReads(t *testing.T) {
	unavailable := errors.New("unavailable")
	for name, test := range map[string]struct {
		// gets are when the value is asked for, after the start.
		gets []time.Duration
		// fail is the read that fails.
		fail      int
		wantReads int
	}{
		"at once":                         {gets: []time.Duration{0, 0, 0}, wantReads: 1},
		"within its time":                 {gets: []time.Duration{0, sharedFor - time.Millisecond}, wantReads: 1},
		"after its time":                  {gets: []time.Duration{0, sharedFor}, wantReads: 2},
		"errors are not shared":           {gets: []time.Duration{0, 0, 0}, fail: 1, wantReads: 2},
		"an error drops the shared value": {gets: []time.Duration{0, sharedFor, sharedFor}, fail: 2, wantReads: 3},
		"the clock is set back":           {gets: []time.Duration{0, -time.Hour, -time.Hour}, wantReads: 2},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(testNow)
			var s shared[types.NamespacedName, int]
			ctx, _ := transport.WithSkew(t.Context())
			reads := 0
			for _, after := range test.gets {
				clock.SetTime(testNow.Add(after))
				failed := false
				value, at, err := s.get(ctx, clock, types.NamespacedName{Name: "p"}, func(context.Context) (int, error) {
					if reads++; reads == test.fail {
						failed = true
						return 0, unavailable
					}
					return reads, nil
				})
				if age := clock.Now().Sub(at); errors.Is(err, unavailable) != failed || (!failed && value != reads) || age < 0 || age >= sharedFor {
					t.Errorf("at %s: got %d, %s old, %v", after, value, age, err)
				}
			}
			if reads != test.wantReads {
				t.Errorf("%d reads, want %d", reads, test.wantReads)
			}
		})
	}
}

func TestSharedReadIsMadeOnceByConcurrentKeys(t *testing.T) {
	var s shared[types.NamespacedName, int]
	var wg sync.WaitGroup
	ctx, _ := transport.WithSkew(t.Context())
	clock, reads := clocktesting.NewFakePassiveClock(testNow), 0
	for range 20 {
		wg.Go(func() {
			_, _, err := s.get(ctx, clock, types.NamespacedName{Name: "p"}, func(context.Context) (int, error) {
				reads++
				return 0, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if reads != 1 {
		t.Errorf("%d reads, want 1", reads)
	}
}
