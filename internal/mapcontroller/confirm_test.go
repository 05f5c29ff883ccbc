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
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The cache shows an input that is gone, with two outputs: by default both go.
// What the API server holds decides whether they do.
//
// Contract: GUARD-3, GUARD-5.
func TestConfirmLooksAtWhatIsThere(t *testing.T) {
	type world struct {
		parent *corev1.ConfigMap
		input  *corev1.Secret
		pods   []client.Object
		skew   time.Duration
	}
	ready := func(o *corev1.Pod) { o.Spec.NodeName = "ready" }
	// keepOne keeps the first output that is ready, and rests on it.
	keepOne := func(r testRequest) testResult {
		for _, o := range r.Outputs {
			if o.(*corev1.Pod).Spec.NodeName == "ready" {
				return testResult{Outputs: []client.Object{o}, Evidence: []client.Object{o}}
			}
		}
		return testResult{Outputs: r.Outputs}
	}
	// keepTwo keeps all ready outputs but the oldest; it rests on the newest.
	keepTwo := func(r testRequest) testResult {
		var d testResult
		for _, o := range r.Outputs {
			if o.GetName() == "c" {
				continue
			}
			d.Outputs = append(d.Outputs, o)
			if len(d.Evidence) == 0 && o.(*corev1.Pod).Spec.NodeName == "ready" {
				d.Evidence = []client.Object{o}
			}
		}
		return d
	}

	for name, test := range map[string]struct {
		shown     []client.Object
		change    func(*world)
		tombstone func(testRequest) testResult
		want      []string
	}{
		"as the cache shows it": {want: []string{}},
		"the parent is gone":    {change: func(w *world) { w.parent = nil }, want: []string{"a", "b"}},
		"the parent has changed": {
			change: func(w *world) { w.parent.Generation = 2 }, want: []string{"a", "b"},
		},
		"the parent was made anew": {
			change: func(w *world) { w.parent.UID = "p2-uid" }, want: []string{"a", "b"},
		},
		"the parent is being deleted": {
			change: func(w *world) {
				w.parent.DeletionTimestamp, w.parent.Finalizers = &metav1.Time{Time: testNow}, []string{"test/wait"}
			},
			want: []string{"a", "b"},
		},
		"the input is back, and its output is desired anew": {
			// testSpec makes an output of the input's name.
			change: func(w *world) { w.input = testInput(func(s *corev1.Secret) { s.Name = "a" }) }, want: []string{"a", "b"},
		},
		"another input has its name": {
			change: func(w *world) { w.input = testInput(func(s *corev1.Secret) { s.Name, s.UID = "a", "new-uid" }) }, want: []string{},
		},
		"the input is back but not selected": {
			change: func(w *world) {
				w.input = testInput(func(s *corev1.Secret) { s.Name, s.Labels = "a", nil })
			},
			want: []string{},
		},
		"an output has changed": {
			change: func(w *world) { w.pods[1].SetResourceVersion("1000") }, want: []string{"b"},
		},
		"evidence as shown": {
			shown: []client.Object{testOutput("a", ready), testOutput("b", ready)}, tombstone: keepOne, want: []string{"a"},
		},
		"evidence is no longer ready": {
			shown: []client.Object{testOutput("a", ready), testOutput("b", ready)}, tombstone: keepOne,
			change: func(w *world) { w.pods[0].(*corev1.Pod).Spec.NodeName = "" },
			want:   []string{"a", "b"},
		},
		"evidence is gone": {
			shown: []client.Object{testOutput("a", ready), testOutput("b", ready)}, tombstone: keepOne,
			change: func(w *world) { w.pods = w.pods[1:] },
			want:   []string{"b"},
		},
		"evidence was released": {
			shown: []client.Object{testOutput("a", ready), testOutput("b", ready)}, tombstone: keepOne,
			change: func(w *world) { w.pods[0].SetOwnerReferences(nil) },
			want:   []string{"a", "b"},
		},
		"without its evidence it rests on what was not read": {
			shown: []client.Object{testOutput("a", ready), testOutput("b", ready), testOutput("c", ready)}, tombstone: keepTwo,
			// The cache alone says that b is there still.
			change: func(w *world) { w.pods = w.pods[2:] },
			want:   []string{"c"},
		},
		"our clock is ahead": {
			change: func(w *world) { w.skew = -2 * time.Minute }, want: []string{"a", "b"},
		},
		"our clock is behind": {
			change: func(w *world) { w.skew = 2 * time.Minute }, want: []string{"a", "b"},
		},
		"the clocks are near enough": {
			change: func(w *world) { w.skew = 30 * time.Second }, want: []string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			shown := test.shown
			if shown == nil {
				shown = []client.Object{testOutput("a"), testOutput("b")}
			}
			now := world{parent: testParent()}
			for _, o := range shown {
				o = o.DeepCopyObject().(client.Object)
				o.SetResourceVersion("999") // as the fake server gives it
				now.pods = append(now.pods, o)
			}
			if test.change != nil {
				test.change(&now)
			}
			there := now.pods
			if now.parent != nil {
				there = append(there, now.parent)
			}
			if now.input != nil {
				there = append(there, now.input)
			}
			b := newBench(t, append(shown, testParent()), there)
			b.serverTime = func() time.Time { return testNow.Add(now.skew) }
			b.Tombstone = test.tombstone

			next := b.reconcile(t)
			if got := b.pods(t); !slices.Equal(got, test.want) {
				t.Errorf("left: %v, want %v", got, test.want)
			}
			if refused := len(test.want) == len(now.pods); refused && next != firstRetry {
				t.Errorf("looks again in %s, want %s", next, firstRetry)
			}
		})
	}
}

// What is to be deleted may be evidence as well; the second decision then holds
// the live object in its place.
func TestConfirmKnowsDoomedEvidence(t *testing.T) {
	shown := []client.Object{testOutput("a"), testParent()}
	b := newBench(t, shown, []client.Object{
		testOutput("a", func(o *corev1.Pod) { o.Spec.NodeName = "wanted" }), testParent(),
	})
	b.Tombstone = func(r testRequest) testResult {
		d := testResult{Evidence: r.Outputs}
		if r.Outputs[0].(*corev1.Pod).Spec.NodeName == "wanted" {
			d.Outputs = r.Outputs
		}
		return d
	}
	b.reconcile(t)
	if got := b.pods(t); len(got) != 1 {
		t.Errorf("left: %v, want a", got)
	}
}

// A server that does not tell its time is one whose clock cannot be trusted.
//
// Contract: GUARD-7.
func TestConfirmNeedsTheServersClock(t *testing.T) {
	b := newBench(t, nil, []client.Object{testParent(), testOutput("a")})
	b.live, b.fresh.live = b.real, b.real
	o := observation{owned: []client.Object{testOutput("a")}}
	_, err := b.confirm(context.Background(), testKey, testParent(), o, testResult{}, o.owned)
	if !errors.Is(err, ErrClockSkew) {
		t.Errorf("got %v, want ErrClockSkew", err)
	}
}

// A delete is not sent once the reads that it rests on are too old.
//
// Contract: GUARD-6.
func TestConfirmedForAWhile(t *testing.T) {
	shown := []client.Object{testOutput("a"), testOutput("b"), testParent()}
	b := newBench(t, shown, shown)
	b.Tombstone = func(testRequest) testResult {
		return testResult{Why: func(client.Object) string {
			// Time passes between the first delete and the second.
			b.clock.SetTime(b.clock.Now().Add(confirmedFor))
			return "test"
		}}
	}
	b.reconcile(t)
	if got := b.pods(t); !slices.Equal(got, []string{"b"}) {
		t.Errorf("left: %v, want b", got)
	}
}
