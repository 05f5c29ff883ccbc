// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Contract: GRP-10.
func TestBuildLetsOutputsSettle(t *testing.T) {
	out := fixture.Outputs()[0]
	out.Settles = time.Minute
	aged := func(age time.Duration) *corev1.Pod {
		return fixture.Output("a", func(o *corev1.Pod) { o.CreationTimestamp = metav1.NewTime(fixture.Now.Add(-age)) })
	}
	for name, test := range map[string]struct {
		finalizer bool
		byLabels  bool
		ahead     time.Duration
		output    *corev1.Pod
		want      []string
		wantNext  time.Duration
	}{
		"creates none before the parent has the finalizer": {},
		"creates":                                        {finalizer: true, want: []string{"create b"}},
		"creates by labels":                              {byLabels: true, want: []string{"create b"}},
		"deletes what has settled":                       {output: aged(time.Minute), want: []string{"delete Test a"}},
		"deletes none before":                            {output: aged(59 * time.Second), want: []string{"withheld"}, wantNext: time.Second},
		"nor by a clock that is ahead":                   {output: aged(time.Minute), ahead: 5 * time.Second, want: []string{"withheld"}, wantNext: 0},
		"deletes what has settled by the server's clock": {output: aged(65 * time.Second), ahead: 5 * time.Second, want: []string{"delete Test a"}},
	} {
		t.Run(name, func(t *testing.T) {
			kinds := fixture.Kinds(t, out)
			kinds.Finalizer = "test/finalizer"
			kinds.Ownership.OwnsByLabels = func(client.Object) bool { return test.byLabels }
			parent, program := fixture.Parent(), fixture.Program()
			if test.finalizer {
				parent.Finalizers = []string{"test/finalizer"}
			}
			program.Map = func(seen plan.Observation) plan.Decision {
				if test.output != nil {
					return plan.Decision{Delete: fixture.DeleteAllBut(seen.Outputs)}
				}
				return plan.Decision{Ensure: []plan.Desired{{Object: pod("b", "")}}}
			}
			seen := plan.Observation{Now: fixture.Now, Ahead: test.ahead, MapKey: "in-uid", Selected: []client.Object{fixture.Input()}}
			if test.output != nil {
				seen.Outputs = []client.Object{test.output}
			}
			p := kinds.Build(plan.Parent{Object: parent, Program: &program}, fixture.Request, seen)
			if got := actions(p); !slices.Equal(got, test.want) || p.Err != nil {
				t.Errorf("%v, %v; want %v", got, p.Err, test.want)
			}
			if test.wantNext > 0 && !p.Next.Equal(fixture.Now.Add(test.wantNext)) {
				t.Errorf("next %v, want %v later", p.Next, test.wantNext)
			}
		})
	}
}

func TestKeysOfAProgram(t *testing.T) {
	kinds, program := fixture.Kinds(t), fixture.Program()
	parent := plan.Parent{Object: fixture.Parent(), Program: &program}
	if got := kinds.Key(parent, fixture.Input()); got != "in-uid" {
		t.Errorf("key %q", got)
	}
	program.Key = func(client.Object) string { return "set" }
	for key, want := range map[string]int{"set": 1, "in-uid": 0} {
		selected, rest := kinds.Partition(parent, key, []client.Object{fixture.Input()})
		if len(selected) != want || len(rest) != 1-want {
			t.Errorf("key %s: selected %v, others %v", key, selected, rest)
		}
	}
}
