// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

func TestStatusConditions(t *testing.T) {
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(o *corev1.Pod) {
			o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{Type: kind, Status: status})
		}
	}
	for name, test := range map[string]struct {
		object client.Object
		want   []string
	}{
		"a kind without conditions": {object: fixture.Input()},
		"none yet":                  {object: fixture.Output("a")},
		"some": {
			object: fixture.Output("a", condition("Ready", "True"), condition("PodScheduled", "False")),
			want:   []string{"Ready True", "PodScheduled False"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range plan.StatusConditions(test.object) {
				got = append(got, c.Type+" "+string(c.Status))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
