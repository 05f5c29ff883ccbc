// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Contract: GUARD-2, OWN-3, OWN-6, OWN-8.
func TestClaim(t *testing.T) {
	owner := fixture.Owners
	noKey := func(o *corev1.Pod) { delete(o.Labels, fixture.Tags.MapKey) }
	notController := func(o *corev1.Pod) { o.OwnerReferences[0].Controller = nil }
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "Service", Name: "s", UID: "s-uid"}
	otherToo := func(o *corev1.Pod) { o.OwnerReferences = append(o.OwnerReferences, other) }
	otherController := func(o *corev1.Pod) {
		notController(o)
		otherToo(o)
		o.OwnerReferences[1].Controller = new(true)
	}
	deleting, foreign := fixture.Deleting[*corev1.Pod], fixture.Foreign
	sameUID := metav1.OwnerReference{APIVersion: "v1", Kind: "Service", Name: "s", UID: "p-uid", Controller: new(true)}
	const owned, adopt, release, both, none = "owned", "adopt", "release", "owned, release", ""

	for name, test := range map[string]struct {
		changes []func(*corev1.Pod)
		// want and wantByLabels are of a parent that owns by reference, and by labels.
		want, wantByLabels string
	}{
		"owned":                                  {want: owned, wantByLabels: both},
		"owned, being deleted":                   {changes: []func(*corev1.Pod){deleting}, want: owned, wantByLabels: both},
		"owned, and something else owns it, too": {changes: []func(*corev1.Pod){otherToo}, want: owned, wantByLabels: both},
		"owned, names another parent":            {changes: []func(*corev1.Pod){fixture.Label(fixture.Tags.Parent, "q")}, want: release, wantByLabels: release},
		"owned, map key removed":                 {changes: []func(*corev1.Pod){noKey}, want: release, wantByLabels: release},
		"owned, map key emptied":                 {changes: []func(*corev1.Pod){fixture.Label(fixture.Tags.MapKey, "")}, want: release, wantByLabels: release},
		"orphan that names the parent":           {changes: []func(*corev1.Pod){fixture.Orphan}, want: adopt, wantByLabels: owned},
		"owner is not the controller":            {changes: []func(*corev1.Pod){notController}, want: adopt, wantByLabels: both},
		"so, and names another parent":           {changes: []func(*corev1.Pod){notController, fixture.Label(fixture.Tags.Parent, "q")}, want: none, wantByLabels: release},
		"so, and something else is":              {changes: []func(*corev1.Pod){otherController}, want: none, wantByLabels: none},
		"something else owns it":                 {changes: []func(*corev1.Pod){owner(other)}, want: adopt, wantByLabels: owned},
		"orphan that names another parent":       {changes: []func(*corev1.Pod){fixture.Orphan, fixture.Label(fixture.Tags.Parent, "q")}, want: none, wantByLabels: none},
		"orphan without a map key":               {changes: []func(*corev1.Pod){fixture.Orphan, noKey}, want: none, wantByLabels: none},
		"orphan that is being deleted":           {changes: []func(*corev1.Pod){fixture.Orphan, deleting}, want: none, wantByLabels: owned},
		"of another parent, with our labels":     {changes: []func(*corev1.Pod){owner(fixture.OwnedBy("p", "q-uid"))}, want: none, wantByLabels: none},
		"of a deleted parent with the same name": {changes: []func(*corev1.Pod){owner(fixture.OwnedBy("p", "old-uid"))}, want: none, wantByLabels: none},
		"owned, of an API version that has gone": {changes: []func(*corev1.Pod){func(o *corev1.Pod) { o.OwnerReferences[0].APIVersion = "apps/v0" }}, want: owned, wantByLabels: both},
		"owned, twice":                           {changes: []func(*corev1.Pod){owner(fixture.OwnedBy("p", "p-uid"), fixture.OwnedBy("p", "p-uid"))}, want: owned, wantByLabels: both},
		"the UID under another kind and name":    {changes: []func(*corev1.Pod){owner(sameUID)}, want: owned, wantByLabels: both},
		"foreign":                                {changes: []func(*corev1.Pod){fixture.Orphan, foreign}, want: none, wantByLabels: none},
		"foreign, being deleted":                 {changes: []func(*corev1.Pod){fixture.Orphan, foreign, deleting}, want: none, wantByLabels: none},
		"foreign, with its own owner":            {changes: []func(*corev1.Pod){owner(other), foreign}, want: none, wantByLabels: none},
		"foreign, controlled by the parent":      {changes: []func(*corev1.Pod){foreign}, want: release, wantByLabels: release},
		"foreign, owned but not controlled":      {changes: []func(*corev1.Pod){notController, foreign}, want: none, wantByLabels: release},
		"foreign, controlled by something else":  {changes: []func(*corev1.Pod){otherController, foreign}, want: none, wantByLabels: none},
		"foreign, without labels":                {changes: []func(*corev1.Pod){fixture.Orphan, noKey, foreign}, want: none, wantByLabels: none},
	} {
		for byLabels, want := range map[bool]string{false: test.want, true: test.wantByLabels} {
			t.Run(fmt.Sprintf("%s, by labels: %v", name, byLabels), func(t *testing.T) {
				o := client.Object(fixture.Output("out", test.changes...))
				kinds := fixture.Kinds(t)
				kinds.Ownership.OwnsByLabels, kinds.Ownership.Foreign = func(client.Object) bool { return byLabels }, fixture.IsForeign
				gotOwned, gotAdopt, gotRelease := kinds.Ownership.Claim(fixture.Parent(), []client.Object{o})
				for in, objects := range map[string][]client.Object{owned: gotOwned, adopt: gotAdopt, release: gotRelease} {
					if slices.Contains(objects, o) != strings.Contains(want, in) {
						t.Errorf("%s: %v, want it in %q", in, fixture.Names(objects), want)
					}
				}
				if kinds.Ownership.Owns(fixture.Parent(), o) != strings.Contains(want, owned) {
					t.Errorf("Owns: %v", !strings.Contains(want, owned))
				}
			})
		}
	}
}

// Who may edit an output can take off its owner and its tags, and cannot write its status.
//
// Contract: FLEET-13.
func TestClaimOfWhatAStatusRecords(t *testing.T) {
	const owned, adopt, none = "owned", "adopt", ""
	another := fixture.Owners(metav1.OwnerReference{APIVersion: "v1", Kind: "Service", Name: "s", UID: "s-uid", Controller: new(true)})
	misnamed, otherKey := fixture.Label(fixture.Tags.Parent, "q"), fixture.Label(fixture.Tags.MapKey, "other")
	for name, test := range map[string]struct {
		changes []func(*corev1.Pod)
		want    string
		wantKey string
	}{
		"as it was":                        {nil, owned, "in-uid"},
		"without tags":                     {[]func(*corev1.Pod){fixture.Unlabeled}, owned, "in-uid"},
		"with another key":                 {[]func(*corev1.Pod){otherKey}, owned, "in-uid"},
		"with another parent's tag":        {[]func(*corev1.Pod){misnamed}, owned, "in-uid"},
		"without an owner":                 {[]func(*corev1.Pod){fixture.Orphan}, adopt, "in-uid"},
		"with neither":                     {[]func(*corev1.Pod){fixture.Orphan, fixture.Unlabeled}, adopt, "in-uid"},
		"something else's":                 {[]func(*corev1.Pod){another}, none, "in-uid"},
		"something else's, with its key":   {[]func(*corev1.Pod){another, otherKey}, none, "other"},
		"being deleted, with neither":      {[]func(*corev1.Pod){fixture.Orphan, fixture.Unlabeled, fixture.Deleting[*corev1.Pod]}, none, "in-uid"},
		"recorded for a parent of before":  {[]func(*corev1.Pod){fixture.RecordOf("old-uid"), fixture.Orphan, fixture.Unlabeled}, none, "in-uid"},
		"so, and it has the parent's tags": {[]func(*corev1.Pod){fixture.RecordOf("old-uid"), fixture.Orphan}, adopt, "in-uid"},
	} {
		t.Run(name, func(t *testing.T) {
			kinds := fixture.Kinds(t)
			kinds.Ownership.Recorded = fixture.Recorded
			o := client.Object(fixture.Output("out", append([]func(*corev1.Pod){fixture.RecordOf("p-uid")}, test.changes...)...))
			gotOwned, gotAdopt, gotRelease := kinds.Ownership.Claim(fixture.Parent(), []client.Object{o})
			if (len(gotOwned) > 0) != (test.want == owned) || (len(gotAdopt) > 0) != (test.want == adopt) || len(gotRelease) > 0 {
				t.Errorf("owned %d, adopted %d, released %d, want %q", len(gotOwned), len(gotAdopt), len(gotRelease), test.want)
			}
			if got := kinds.Ownership.MapKey(o); got != test.wantKey {
				t.Errorf("map key %q, want %q", got, test.wantKey)
			}
		})
	}
	ownership := plan.Ownership{Tags: fixture.Tags, Recorded: fixture.Recorded}
	unnamed := fixture.Parent(func(p *appsv1.Deployment) { p.UID = "" })
	if ownership.Relation(unnamed, fixture.Output("out", fixture.Orphan, fixture.Unlabeled)).Orphan {
		t.Error("a parent without a UID adopts what records none")
	}
}

// The garbage collector follows every owner reference by its UID, and deletes what has no
// other owner. A property, over all lists of owners: an object is collected with exactly
// one of its owners, or with none.
func TestCollectedWith(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		uids := rapid.SliceOfN(rapid.SampledFrom([]types.UID{"p-uid", "q-uid", "r-uid"}), 0, 4).Draw(t, "owners")
		var refs []metav1.OwnerReference
		for _, uid := range uids {
			refs = append(refs, metav1.OwnerReference{UID: uid, Controller: rapid.SampledFrom([]*bool{nil, new(false), new(true)}).Draw(t, "controller")})
		}
		o, parent := fixture.Output("out", fixture.Owners(refs...)), fixture.Parent()
		isParents := func(uid types.UID) bool { return uid == parent.UID }
		isOthers := func(uid types.UID) bool { return uid != parent.UID }
		if got, want := plan.Refers(o, parent), slices.ContainsFunc(uids, isParents); got != want {
			t.Errorf("refers: %v, want %v", got, want)
		}
		if got, want := plan.CollectedWith(o, parent), len(uids) > 0 && !slices.ContainsFunc(uids, isOthers); got != want {
			t.Errorf("is collected: %v, want %v", got, want)
		}
	})
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
			if got := kinds.Ownership.IsParent(&ref); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if kinds.Ownership.IsParent(nil) {
		t.Error("no reference names a parent")
	}
}
