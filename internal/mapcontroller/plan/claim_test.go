// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
)

// Contract: GUARD-2, OWN-3.
func TestClaim(t *testing.T) {
	owner := fixture.Owners
	noKey := func(o *corev1.Pod) { delete(o.Labels, fixture.Tags.MapKey) }
	notController := func(o *corev1.Pod) { o.OwnerReferences[0].Controller = nil }
	deleting := fixture.Deleting[*corev1.Pod]
	const owned, adopt, release, none = "owned", "adopt", "release", ""

	for name, test := range map[string]struct {
		changes []func(*corev1.Pod)
		want    string
	}{
		"owned":                                  {want: owned},
		"owned, being deleted":                   {changes: []func(*corev1.Pod){deleting}, want: owned},
		"owned, names another parent":            {changes: []func(*corev1.Pod){fixture.Label(fixture.Tags.Parent, "q")}, want: release},
		"owned, map key removed":                 {changes: []func(*corev1.Pod){noKey}, want: release},
		"owned, map key emptied":                 {changes: []func(*corev1.Pod){fixture.Label(fixture.Tags.MapKey, "")}, want: release},
		"orphan that names the parent":           {changes: []func(*corev1.Pod){fixture.Orphan}, want: adopt},
		"owner is not the controller":            {changes: []func(*corev1.Pod){notController}, want: adopt},
		"orphan that names another parent":       {changes: []func(*corev1.Pod){fixture.Orphan, fixture.Label(fixture.Tags.Parent, "q")}, want: none},
		"orphan without a map key":               {changes: []func(*corev1.Pod){fixture.Orphan, noKey}, want: none},
		"orphan that is being deleted":           {changes: []func(*corev1.Pod){fixture.Orphan, deleting}, want: none},
		"of another parent, with our labels":     {changes: []func(*corev1.Pod){owner(fixture.OwnedBy("p", "q-uid"))}, want: none},
		"of a deleted parent with the same name": {changes: []func(*corev1.Pod){owner(fixture.OwnedBy("p", "old-uid"))}, want: none},
	} {
		t.Run(name, func(t *testing.T) {
			o := client.Object(fixture.Output("out", test.changes...))
			gotOwned, gotAdopt, gotRelease := fixture.Tags.Claim(fixture.Parent(), []client.Object{o})
			for in, objects := range map[string][]client.Object{owned: gotOwned, adopt: gotAdopt, release: gotRelease} {
				if slices.Contains(objects, o) != (in == test.want) {
					t.Errorf("%s: %v, want it in %q", in, fixture.Names(objects), test.want)
				}
			}
			if fixture.Tags.Owns(fixture.Parent(), o) != (test.want == owned) {
				t.Errorf("Owns: %v", test.want != owned)
			}
		})
	}
}

func TestIsParent(t *testing.T) {
	kinds := fixture.Kinds(t)
	for name, test := range map[string]struct {
		apiVersion, kind string
		want             bool
	}{
		"the parent's kind":          {"apps/v1", "Deployment", true},
		"another version":            {"apps/v2", "Deployment", true},
		"another kind":               {"apps/v1", "StatefulSet", false},
		"another group":              {"example.com/v1", "Deployment", false},
		"the core group":             {"v1", "Deployment", false},
		"an apiVersion that is none": {"apps/b/c", "Deployment", false},
	} {
		t.Run(name, func(t *testing.T) {
			ref := metav1.OwnerReference{APIVersion: test.apiVersion, Kind: test.kind}
			if got := kinds.IsParent(&ref); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if kinds.IsParent(nil) {
		t.Error("no reference names a parent")
	}
}
