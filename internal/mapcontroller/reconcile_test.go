// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Every pass says when to look next, for an event has consumed the look that
// was due.
func TestNextLook(t *testing.T) {
	at := func(d time.Duration) time.Time { return testNow.Add(d) }
	for name, test := range map[string]struct {
		next  time.Time
		fails int
		paced time.Duration
		want  time.Duration
	}{
		"never":                                   {},
		"when time alone changes the decision":    {next: at(time.Minute), want: time.Minute},
		"and at the latest after a while":         {next: at(48 * time.Hour), want: longestLook},
		"when that is over":                       {next: at(-time.Hour), want: time.Millisecond},
		"when a write failed":                     {fails: 1, want: firstRetry},
		"when it failed again and again":          {fails: 3, want: 4 * firstRetry},
		"when it failed for good":                 {fails: 30, want: lastRetry},
		"a failure does not delay what falls due": {fails: 30, next: at(time.Minute), want: time.Minute},
		"nor does what falls due a new try":       {fails: 1, next: at(time.Minute), want: firstRetry},
		"deletes that wait for their turn":        {paced: 2 * time.Second, next: at(time.Minute), want: 2 * time.Second},
		"deletes that wait longer than the rest":  {paced: time.Hour, next: at(time.Minute), want: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			for range max(0, test.fails-1) {
				b.retries.delays.When(testKey)
			}
			w := b.writer(testParent())
			w.paced = test.paced
			if test.fails > 0 {
				w.failed("create", testOutput("a"), errors.New("denied"))
			}
			if got := b.nextLook(testKey, test.next, w).RequeueAfter; got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if again := b.retries.delays.NumRequeues(testKey); again != test.fails {
				t.Errorf("%d failures are known, want %d", again, test.fails)
			}
		})
	}
}

// What a parent that is being deleted, or is invalid, owns is left alone.
func TestReconcileLeavesAlone(t *testing.T) {
	for name, test := range map[string]struct {
		deleting bool
		invalid  error
		want     []string
	}{
		"a parent that is well":          {want: []string{"in"}},
		"a parent that is being deleted": {deleting: true, want: []string{"old"}},
		"an invalid one":                 {invalid: errors.New("invalid"), want: []string{"old"}},
	} {
		t.Run(name, func(t *testing.T) {
			parent := testParent(func(p *corev1.ConfigMap) {
				if test.deleting {
					p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: testNow}, []string{"test/wait"}
				}
			})
			// The API server would let it: only the cache knows why not.
			objects := []client.Object{testInput(), testOutput("old")}
			b := newBench(t, append(objects, parent), append(objects, testParent()))
			b.Select = func(p *corev1.ConfigMap) (labels.Selector, error) {
				return labels.SelectorFromSet(p.Data), test.invalid
			}
			if next := b.reconcile(t); next != 0 {
				t.Errorf("looks again in %s", next)
			}
			if got := b.pods(t); !slices.Equal(got, test.want) {
				t.Errorf("left: %v, want %v", got, test.want)
			}
		})
	}
}

// A key is not looked at until the cache shows what was last written for it; if
// it never does, the name keeps a second output from being made.
func TestReconcileWaitsForTheCache(t *testing.T) {
	objects := []client.Object{testParent(), testInput()}
	b := newBench(t, objects, objects)
	creates := 0
	b.client = interceptor.NewClient(b.real.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			creates++
			return c.Create(ctx, o, opts...)
		},
	})
	for _, step := range []struct {
		after       time.Duration
		wantNext    time.Duration
		wantCreates int
	}{
		{0, 0, 1},
		{time.Second, expectationTimeout - time.Second, 1},
		{expectationTimeout, 0, 2},
		{expectationTimeout, 0, 3}, // the name was taken by our own: nothing is expected
	} {
		b.clock.SetTime(testNow.Add(step.after))
		if next := b.reconcile(t); next != step.wantNext || creates != step.wantCreates {
			t.Errorf("after %s: next %s, %d creates; want %s, %d", step.after, next, creates, step.wantNext, step.wantCreates)
		}
	}
	if got := b.pods(t); !slices.Equal(got, []string{"in"}) {
		t.Errorf("left: %v", got)
	}
}

// A parent that is gone leaves nothing behind.
func TestReconcileForgetsTheKeysOfAParentThatIsGone(t *testing.T) {
	b := newBench(t, nil, nil)
	b.pace = newPace(1)
	b.retries.after(b.clock.Now(), testKey)
	b.deletes.after(b.clock.Now(), testKey)
	b.expectations.expect(testKey, expectation{})
	for range 2 {
		b.pace.grant(b.clock.Now(), testKey, 1)
	}
	b.reconcile(t)
	if len(b.retries.due)+len(b.deletes.due)+len(b.pace.granted)+len(b.expectations.pending) > 0 {
		t.Errorf("still known: %v, %v, %v, %v", b.retries.due, b.deletes.due, b.pace.granted, b.expectations.pending)
	}
}
