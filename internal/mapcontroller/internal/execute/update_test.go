// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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

// A tenant took off the tags, and changes something else again and again.
//
// Contract: FLEET-2, FLEET-13.
func TestRunPutsBackTagsOfWhatAStatusRecords(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"one of them":  func(o *corev1.Pod) { delete(o.Labels, fixture.Tags.MapKey) },
		"both":         func(o *corev1.Pod) { o.Labels = map[string]string{"team": "x"} },
		"all labels":   fixture.Unlabeled,
		"with another": fixture.Label(fixture.Tags.MapKey, "x"),
	} {
		for overtaken, with := range map[bool][]func(*corev1.Pod){false: nil, true: {changed}} {
			t.Run(fmt.Sprintf("%s, overtaken: %v", name, overtaken), func(t *testing.T) {
				kind := fixture.Outputs()[0]
				kind.Update = func(observed, desired client.Object) {
					all := maps.Clone(observed.GetLabels())
					if all == nil {
						all = map[string]string{}
					}
					maps.Copy(all, desired.GetLabels())
					observed.SetLabels(all)
				}
				changes := []func(*corev1.Pod){fixture.RecordOf("p-uid"), change, func(o *corev1.Pod) { o.Generation = 2 }}
				cached := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("in", changes...)}
				h := newHarness(t, cached, []client.Object{fixture.Parent(), fixture.Output("in", append(changes, with...)...)}, kind)
				h.Kinds.Ownership.Recorded = fixture.Recorded
				outcome, _, err := h.pass(t)
				if err != nil || len(outcome.Failed) > 0 {
					t.Errorf("failed %v, error %v", failures(outcome), err)
				}
				if labels := h.api.Pod(t, "in").Labels; labels[fixture.Tags.MapKey] != "in-uid" || labels[fixture.Tags.Parent] != "p" {
					t.Errorf("labels %v", labels)
				}
			})
		}
	}
}

// The API server refuses labels that are added, because of what else the output has.
//
// Contract: FLEET-2.
func TestRunPutsTheSpecBackAloneWhereTheRestIsRefused(t *testing.T) {
	kind := fixture.Outputs()[0]
	kind.Update = func(observed, desired client.Object) {
		observed.(*corev1.Pod).Spec.NodeName = desired.(*corev1.Pod).Spec.NodeName
		metav1.SetMetaDataLabel(&observed.(*corev1.Pod).ObjectMeta, "tier", "gold")
	}
	second := func(o *corev1.Pod) { o.Generation = 2 }
	unavailable := apierrors.NewServiceUnavailable("unavailable")
	for name, test := range map[string]struct {
		refused     error
		stored      []func(*corev1.Pod)
		want        string // the node
		wantPatches int
	}{
		"too large for etcd":     {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), nil, "", 2},
		"too large":              {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), nil, "", 2},
		"invalid":                {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "in", nil), nil, "", 2},
		"invalid, and overtaken": {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "in", nil), []func(*corev1.Pod){changed}, "", 3},
		"forbidden":              {forbidden, nil, "other", 1},
		"not for the object":     {unavailable, nil, "other", 1},
	} {
		t.Run(name, func(t *testing.T) {
			cached := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("in", onNode, second)}
			stored := fixture.Output("in", append([]func(*corev1.Pod){onNode, second}, test.stored...)...)
			h := newHarness(t, cached, []client.Object{fixture.Parent(), stored}, kind)
			patches := 0
			h.Client = interceptor.NewClient(h.api, interceptor.Funcs{Patch: func(
				ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption,
			) error {
				patches++
				data, err := p.Data(o)
				if err != nil {
					return err
				}
				if overtaken := len(test.stored) > 0 && patches == 1; strings.Contains(string(data), "gold") && !overtaken {
					return test.refused
				}
				return c.Patch(ctx, o, p, opts...)
			}})
			outcome, _, err := h.pass(t)
			if !errors.Is(err, test.refused) || !slices.Equal(failures(outcome), []string{"update in"}) {
				t.Errorf("failed %v, error %v", failures(outcome), err)
			}
			pod := h.api.Pod(t, "in")
			if pod.Spec.NodeName != test.want || pod.Labels["tier"] != "" || patches != test.wantPatches {
				t.Errorf("got node %q, labels %v, %d patches", pod.Spec.NodeName, pod.Labels, patches)
			}
		})
	}
}
