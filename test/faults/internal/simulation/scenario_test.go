// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// scenario is a world with an operator, a PVC, and a schedule, in which the same happens every time.
type scenario struct {
	*world
	t *testing.T
}

// runScenario runs a scenario in a bubble. Every write is judged.
func runScenario(t *testing.T, from time.Time, spec v1alpha1.SnapshotScheduleSpec, run func(scenario)) {
	inBubble(t, func() {
		s := scenario{newWorld(from, 1, 5*time.Second), t}
		defer s.end()
		s.locked(func() {
			s.bindClaim(s.create(newClaim("data", "")).(*corev1.PersistentVolumeClaim))
			s.create(&v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "plan"}, Spec: spec})
			s.start()
		})
		run(s)
		for _, f := range s.judge.Found() {
			t.Error(f)
		}
	})
}

// pass lets time pass, and does something then.
func (s scenario) pass(d time.Duration, do ...func()) {
	time.Sleep(d)
	for _, do := range do {
		s.locked(do)
	}
}

func (s scenario) freeze(k kube.Kind, d time.Duration) func() {
	return func() { s.operators[0].frozen[k] = time.Now().Add(d) }
}

func (s scenario) expect(condition, reason string) {
	s.t.Helper()
	if c := meta.FindStatusCondition(s.schedule("plan").Status.Conditions, condition); c == nil || c.Reason != reason {
		s.t.Errorf("%s: condition %s is %+v, want reason %s", time.Now().UTC(), condition, c, reason)
	}
}

func (s scenario) expectReady(reason string) {
	s.t.Helper()
	s.expect(v1alpha1.ConditionReady, reason)
}
