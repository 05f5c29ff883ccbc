// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Contract: GUARD-6.
func TestFreshParents(t *testing.T) {
	for name, test := range map[string]struct {
		// looks says when the parent is asked for, after the start.
		looks []time.Duration
		// fail makes the read of this number fail.
		fail      int
		wantReads int
	}{
		"at once":                      {looks: []time.Duration{0, 0, 0}, wantReads: 1},
		"within its time":              {looks: []time.Duration{0, freshFor - time.Millisecond}, wantReads: 1},
		"after its time":               {looks: []time.Duration{0, freshFor}, wantReads: 2},
		"errors are not shared":        {looks: []time.Duration{0, 0, 0}, fail: 1, wantReads: 2},
		"an error ends what was known": {looks: []time.Duration{0, freshFor, freshFor}, fail: 2, wantReads: 3},
		"the clock is set back":        {looks: []time.Duration{0, -time.Hour, -time.Hour}, wantReads: 2},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(testNow)
			reads := 0
			live := fake.NewClientBuilder().WithObjects(testParent()).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if reads++; reads == test.fail {
						return errors.New("unavailable")
					}
					return c.Get(ctx, key, o, opts...)
				},
			}).Build()
			f := &freshParents[*corev1.ConfigMap]{
				live: live, clock: clock, empty: func() *corev1.ConfigMap { return &corev1.ConfigMap{} },
			}
			for _, look := range test.looks {
				clock.SetTime(testNow.Add(look))
				before := reads
				parent, at, err := f.get(context.Background(), testKey.Parent)
				failed := reads > before && reads == test.fail
				if (err != nil) != failed {
					t.Fatalf("at %s: %v", look, err)
				}
				if failed {
					continue
				}
				if age := clock.Now().Sub(at); parent.Name != "p" || age < 0 || age >= freshFor {
					t.Errorf("at %s: got %s, %s old", look, parent.Name, age)
				}
			}
			if reads != test.wantReads {
				t.Errorf("%d reads, want %d", reads, test.wantReads)
			}
		})
	}
}

// Keys that ask at the same time wait for one read.
func TestFreshParentsTogether(t *testing.T) {
	var mu sync.Mutex
	reads := 0
	live := fake.NewClientBuilder().WithObjects(testParent()).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			mu.Lock()
			reads++
			mu.Unlock()
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	f := &freshParents[*corev1.ConfigMap]{
		live: live, clock: clocktesting.NewFakePassiveClock(testNow), empty: func() *corev1.ConfigMap { return &corev1.ConfigMap{} },
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, _, err := f.get(context.Background(), testKey.Parent); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if reads != 1 {
		t.Errorf("%d reads, want 1", reads)
	}
}
