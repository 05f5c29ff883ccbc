// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Contract: STAT-6.
func TestServedKinds(t *testing.T) {
	group := func(version string, kinds ...string) *metav1.APIResourceList {
		l := &metav1.APIResourceList{GroupVersion: version}
		for _, k := range kinds {
			l.APIResources = append(l.APIResources, metav1.APIResource{Kind: k})
		}
		return l
	}
	v1 := group("v1", "Secret", "Pod")

	for name, test := range map[string]struct {
		served      []*metav1.APIResourceList
		needed      []schema.GroupVersionKind
		fail        error
		wantMissing []string
		wantAsked   int
		wantError   bool
	}{
		"all served": {
			served: []*metav1.APIResourceList{v1}, wantAsked: 1,
			needed: []schema.GroupVersionKind{{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Pod"}},
		},
		"the group is not served": {
			served: []*metav1.APIResourceList{v1}, wantAsked: 2,
			needed:      []schema.GroupVersionKind{{Version: "v1", Kind: "Secret"}, {Group: "x.test", Version: "v1", Kind: "Widget"}},
			wantMissing: []string{"Widget.v1.x.test"},
		},
		"the group is, the kind is not": {
			served: []*metav1.APIResourceList{v1, group("x.test/v1", "Gadget")}, wantAsked: 1,
			needed:      []schema.GroupVersionKind{{Group: "x.test", Version: "v1", Kind: "Widget"}},
			wantMissing: []string{"Widget.v1.x.test"},
		},
		"in another version": {
			served: []*metav1.APIResourceList{group("x.test/v2", "Widget")}, wantAsked: 1,
			needed:      []schema.GroupVersionKind{{Group: "x.test", Version: "v1", Kind: "Widget"}},
			wantMissing: []string{"Widget.v1.x.test"},
		},
		"the API server does not answer": {
			needed: []schema.GroupVersionKind{{Version: "v1", Kind: "Secret"}}, wantAsked: 1,
			fail: errors.New("unavailable"), wantError: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &clienttesting.Fake{Resources: test.served}
			if test.fail != nil {
				f.AddReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.fail })
			}
			k := &servedKinds{discovery: &fakediscovery.FakeDiscovery{Fake: f}, needed: test.needed}
			got, err := k.look(context.Background())
			if (err != nil) != test.wantError || !slices.Equal(got, test.wantMissing) || !slices.Equal(k.missing(), test.wantMissing) {
				t.Errorf("got %v, %v, want %v, error %v", got, err, test.wantMissing, test.wantError)
			}
			if asked := len(f.Actions()); asked != test.wantAsked {
				t.Errorf("asked %d times, want %d", asked, test.wantAsked)
			}
		})
	}
}

// A suspicion never blocks a worker, and many are one.
func TestSuspectMissing(t *testing.T) {
	k := &servedKinds{suspect: make(chan struct{}, 1)}
	for range 3 {
		k.suspectMissing()
	}
	if len(k.suspect) != 1 {
		t.Errorf("%d suspicions", len(k.suspect))
	}
}
