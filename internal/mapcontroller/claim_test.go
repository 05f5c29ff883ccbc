// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Contract: GUARD-2, OWN-3.
func TestClaim(t *testing.T) {
	owner := func(uid types.UID) func(*corev1.Pod) {
		return func(o *corev1.Pod) { o.OwnerReferences = []metav1.OwnerReference{ownedBy("p", uid)} }
	}
	orphan := func(o *corev1.Pod) { o.OwnerReferences = nil }
	label := func(key, value string) func(*corev1.Pod) {
		return func(o *corev1.Pod) { o.Labels[key] = value }
	}
	deleting := func(o *corev1.Pod) { o.DeletionTimestamp = &metav1.Time{Time: testNow} }
	noKey := func(o *corev1.Pod) { delete(o.Labels, testTags.MapKey) }
	notController := func(o *corev1.Pod) { o.OwnerReferences[0].Controller = nil }

	for name, test := range map[string]struct {
		change      []func(*corev1.Pod)
		wantOwned   bool
		wantAdopt   bool
		wantRelease bool
	}{
		"ours":                                    {wantOwned: true},
		"ours, being deleted":                     {change: []func(*corev1.Pod){deleting}, wantOwned: true},
		"ours, named as another's":                {change: []func(*corev1.Pod){label(testTags.Parent, "q")}, wantRelease: true},
		"ours, the map key taken off":             {change: []func(*corev1.Pod){noKey}, wantRelease: true},
		"ours, the map key emptied":               {change: []func(*corev1.Pod){label(testTags.MapKey, "")}, wantRelease: true},
		"an orphan that names us":                 {change: []func(*corev1.Pod){orphan}, wantAdopt: true},
		"an owner that is not the controller":     {change: []func(*corev1.Pod){notController}, wantAdopt: true},
		"an orphan that names another":            {change: []func(*corev1.Pod){orphan, label(testTags.Parent, "q")}},
		"an orphan without a map key":             {change: []func(*corev1.Pod){orphan, noKey}},
		"an orphan that is being deleted":         {change: []func(*corev1.Pod){orphan, deleting}},
		"another's, with our labels":              {change: []func(*corev1.Pod){owner("q-uid")}},
		"of a parent that had our name before us": {change: []func(*corev1.Pod){owner("old-uid")}},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOutput("out", test.change...)
			got := testTags.claim(testParent(), []client.Object{o})
			for what, c := range map[string]struct {
				got  []client.Object
				want bool
			}{
				"owned": {got.owned, test.wantOwned}, "adopt": {got.adopt, test.wantAdopt}, "release": {got.release, test.wantRelease},
			} {
				if slices.Contains(c.got, client.Object(o)) != c.want {
					t.Errorf("%s: got %v, want %v", what, !c.want, c.want)
				}
			}
		})
	}
}
