// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// A parent may be deleted because its status counts nothing. What is about to become its own counts.
//
// Contract: STAT-12.
func TestBuildCounts(t *testing.T) {
	isReady := func(o *corev1.Pod) {
		o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	own, orphan := fixture.Output("own", isReady), fixture.Output("orphan", fixture.Orphan, isReady)
	leaving := fixture.Output("leaving", fixture.Label(fixture.Tags.Parent, "q"))
	unlabeled := &metav1.PartialObjectMetadata{ObjectMeta: fixture.Output("unlabeled", fixture.Label(fixture.Tags.MapKey, "")).ObjectMeta}
	unlabeled.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	for name, test := range map[string]struct {
		detached, invalid, byLabels, emptyKey bool
		outputs                               []client.Object
		want                                  []string
	}{
		"its own":               {outputs: []client.Object{own}, want: []string{"inputs.secrets.total 1", "outputs.pods.ready 1", "outputs.pods.total 1"}},
		"what it adopts":        {outputs: []client.Object{own, orphan}, want: []string{"inputs.secrets.total 1", "outputs.pods.ready 2", "outputs.pods.total 2"}},
		"so, without its input": {detached: true, outputs: []client.Object{orphan}, want: []string{"detached.mapKeys 1", "detached.pods 1", "outputs.pods.ready 1", "outputs.pods.total 1"}},
		"not what it does not adopt": {
			invalid: true, outputs: []client.Object{own, orphan}, want: []string{"outputs.pods.ready 1", "outputs.pods.total 1"}},
		"what is to be released": {
			outputs: []client.Object{own, leaving}, want: []string{"inputs.secrets.total 1", "outputs.pods.ready 1", "outputs.pods.total 2"}},
		"so, under an invalid spec":               {invalid: true, outputs: []client.Object{leaving}, want: []string{"outputs.pods.total 1"}},
		"so, by labels":                           {byLabels: true, outputs: []client.Object{leaving}, want: []string{"inputs.secrets.total 1", "outputs.pods.total 1"}},
		"so, of which only the metadata is known": {emptyKey: true, outputs: []client.Object{unlabeled}, want: []string{"outputs.pods.total 1"}},
		"by labels, once":                         {byLabels: true, outputs: []client.Object{own, orphan}, want: []string{"inputs.secrets.total 1", "outputs.pods.ready 2", "outputs.pods.total 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			kinds, program := fixture.Kinds(t), fixture.Program()
			kinds.Ownership.OwnsByLabels = func(client.Object) bool { return test.byLabels }
			parent, seen := plan.Parent{Object: fixture.Parent(), Program: &program}, plan.Observation{Outputs: test.outputs}
			if test.invalid {
				parent.Program, parent.Invalid = nil, errors.New("invalid")
			}
			if !test.detached {
				seen.Selected = []client.Object{fixture.Input()}
			}
			req := fixture.Request
			if test.emptyKey {
				req.MapKey = ""
			}
			var got []string
			p := kinds.Build(parent, req, seen)
			for _, c := range kinds.Counts(&p, nil) {
				got = append(got, fmt.Sprint(c.Path.Value(), " ", c.N))
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
