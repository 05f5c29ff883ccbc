// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

func (b *bench) statusWriter() *statusWriter[*corev1.ConfigMap, string] {
	return &statusWriter[*corev1.ConfigMap, string]{
		controller: b.testController,
		written:    map[types.NamespacedName]time.Time{},
		unset:      map[types.NamespacedName]time.Time{},
	}
}

// A status waits for the keys of its parent to be looked at, but not for good.
func TestSituationSettles(t *testing.T) {
	type look struct {
		after time.Duration
		want  time.Duration
	}
	for name, test := range map[string]struct {
		looks []look
	}{
		"not for good":             {looks: []look{{0, settleWithin}, {4 * time.Second, 6 * time.Second}, {settleWithin, 0}, {time.Minute, 0}}},
		"a clock that is set back": {looks: []look{{0, settleWithin}, {-24 * time.Hour, settleWithin}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			s := b.statusWriter()
			b.ledger.open(testKey.Parent, "p-uid", []string{"a"})
			for _, l := range test.looks {
				b.clock.SetTime(testNow.Add(l.after))
				situation, wait := s.situation(testKey.Parent, testParent())
				if situation.Settled || wait != l.want {
					t.Errorf("after %s: settled %v, wait %s, want %s", l.after, situation.Settled, wait, l.want)
				}
			}
			b.ledger.put(Request{Parent: testKey.Parent, MapKey: "a"}, "p-uid", summary[string]{generation: 1})
			if situation, wait := s.situation(testKey.Parent, testParent()); !situation.Settled || wait != 0 {
				t.Errorf("looked at: settled %v, wait %s", situation.Settled, wait)
			}
			// The next generation waits anew.
			next := testParent(func(p *corev1.ConfigMap) { p.Generation = 2 })
			if situation, wait := s.situation(testKey.Parent, next); situation.Settled || wait != settleWithin {
				t.Errorf("the next generation: settled %v, wait %s", situation.Settled, wait)
			}
		})
	}
}

func TestSituation(t *testing.T) {
	for name, test := range map[string]struct {
		spoil       func(*bench)
		wantNone    bool
		wantMissing []string
		wantInvalid bool
		wantTotals  bool
		wantSettled bool
	}{
		"keys not known yet":  {spoil: func(b *bench) { b.ledger.forget(testKey.Parent) }, wantNone: true},
		"no keys":             {spoil: func(*bench) {}, wantTotals: true, wantSettled: true},
		"a kind that is gone": {spoil: func(b *bench) { b.kinds.absent = []string{"Pod"} }, wantMissing: []string{"Pod"}, wantSettled: true},
		"an invalid spec": {
			spoil: func(b *bench) {
				b.Select = func(*corev1.ConfigMap) (labels.Selector, error) { return nil, errors.New("invalid") }
			},
			wantInvalid: true, wantSettled: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			b.ledger.open(testKey.Parent, "p-uid", nil)
			test.spoil(b)
			got, _ := b.statusWriter().situation(testKey.Parent, testParent())
			if got == nil {
				if !test.wantNone {
					t.Error("nothing is known")
				}
				return
			}
			if test.wantNone || !slices.Equal(got.Missing, test.wantMissing) || (got.Invalid != nil) != test.wantInvalid ||
				(got.Totals != nil) != test.wantTotals || got.Settled != test.wantSettled {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestUntilInterval(t *testing.T) {
	for name, test := range map[string]struct {
		written *time.Duration
		want    time.Duration
	}{
		"never written":            {},
		"just now":                 {written: new(time.Duration(0)), want: 5 * time.Second},
		"a while ago":              {written: new(-3 * time.Second), want: 2 * time.Second},
		"long ago":                 {written: new(-time.Hour)},
		"when the clock was ahead": {written: new(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			b.StatusInterval = 5 * time.Second
			s := b.statusWriter()
			if test.written != nil {
				s.written[testKey.Parent] = testNow.Add(*test.written)
			}
			if got := s.untilInterval(testKey.Parent); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func startedPod() *corev1.Pod {
	return testOutput("a", func(p *corev1.Pod) {
		p.ResourceVersion = "7"
		started := metav1.NewTime(testNow)
		p.Status.StartTime = &started
	})
}

// A patch holds what changed as it is written, and the version that it is for.
func TestStatusPatch(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.PodStatus)
		want   string
	}{
		"nothing":           {change: func(*corev1.PodStatus) {}},
		"less than is kept": {change: func(s *corev1.PodStatus) { s.StartTime.Time = s.StartTime.Add(time.Nanosecond) }},
		"something": {
			change: func(s *corev1.PodStatus) { s.Message, s.StartTime = "new", nil },
			want:   `{"metadata":{"resourceVersion":"7"},"status":{"message":"new","startTime":null}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cached, changed := startedPod(), startedPod()
			test.change(&changed.Status)
			patch, err := statusPatch(cached, changed)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if patch != nil {
				data, err := patch.Data(changed)
				if err != nil || patch.Type() != types.MergePatchType {
					t.Fatalf("%s: %v", patch.Type(), err)
				}
				got = string(data)
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// counted counts how often it is written as JSON.
type counted struct {
	*corev1.Pod
	Written *int
}

func (c counted) DeepCopyObject() runtime.Object { return counted{c.DeepCopy(), c.Written} }

func (c counted) MarshalJSON() ([]byte, error) {
	*c.Written++
	return json.Marshal(c.Pod)
}

// Every change of a key has the status worked out, and most of them change
// nothing: to see that takes no JSON, and a patch is made only once.
func TestStatusPatchWritesNoMoreThanItMust(t *testing.T) {
	for name, test := range map[string]struct {
		message string
		want    int
	}{
		"unchanged": {},
		"changed":   {message: "new", want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			written := 0
			cached, changed := counted{startedPod(), &written}, counted{startedPod(), &written}
			changed.Status.Message = test.message
			patch, err := statusPatch(cached, changed)
			if err == nil && patch != nil {
				_, err = patch.Data(changed)
			}
			if err != nil {
				t.Fatal(err)
			}
			if (patch != nil) != (test.want > 0) || written != test.want {
				t.Errorf("patch %v, written as JSON %d times, want %d", patch, written, test.want)
			}
		})
	}
}
