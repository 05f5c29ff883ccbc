// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
)

// The cache has an older version of the output, of generation 2, on the node "other".
//
// Contract: FLEET-2.
func TestRunUpdatesWhateverElseHasChanged(t *testing.T) {
	kind := fixture.Outputs()[0]
	kind.Update = func(observed, desired client.Object) {
		observed.(*corev1.Pod).Spec.NodeName = desired.(*corev1.Pod).Spec.NodeName
		metav1.SetMetaDataLabel(&observed.(*corev1.Pod).ObjectMeta, "tier", "gold")
	}
	second := func(o *corev1.Pod) { o.Generation = 2 }
	for name, test := range map[string]struct {
		stored *corev1.Pod
		want   string // the node
	}{
		"an annotation":       {fixture.Output("in", onNode, second, changed), ""},
		"the spec":            {fixture.Output("in", onNode, changed, func(o *corev1.Pod) { o.Generation = 3 }), "other"},
		"the UID":             {fixture.Output("in", onNode, second, changed, func(o *corev1.Pod) { o.UID = "new" }), "other"},
		"the owner":           {fixture.Output("in", onNode, second, changed, fixture.Orphan), "other"},
		"the map key":         {fixture.Output("in", onNode, second, changed, fixture.Label(fixture.Tags.MapKey, "x")), "other"},
		"it is being deleted": {fixture.Output("in", onNode, second, changed, fixture.Deleting[*corev1.Pod]), "other"},
	} {
		t.Run(name, func(t *testing.T) {
			cached := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("in", onNode, second)}
			h := newHarness(t, cached, []client.Object{fixture.Parent(), test.stored}, kind)
			outcome, _, err := h.pass(t)
			if err != nil || !slices.Equal(failures(outcome), nil) {
				t.Errorf("failed %v, error %v", failures(outcome), err)
			}
			pod := h.api.Pod(t, "in")
			if pod.Spec.NodeName != test.want || (pod.Labels["tier"] == "gold") != (test.want == "") {
				t.Errorf("got node %q, labels %v", pod.Spec.NodeName, pod.Labels)
			}
		})
	}
}
