// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func serving(version string, kinds ...string) *metav1.APIResourceList {
	l := &metav1.APIResourceList{GroupVersion: version}
	for _, k := range kinds {
		l.APIResources = append(l.APIResources, metav1.APIResource{Kind: k})
	}
	return l
}

func newTestKinds(f *clienttesting.Fake, needed ...schema.GroupVersionKind) *Kinds {
	return New(Settings{Needed: needed, Back: func() {}, Discovery: &fakediscovery.FakeDiscovery{Fake: f}, Interval: time.Minute})
}

// Contract: STAT-6.
func TestKindsAreMissing(t *testing.T) {
	v1 := serving("v1", "Secret", "Pod")
	secret, pod := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	widget := schema.GroupVersionKind{Group: "x.test", Version: "v1", Kind: "Widget"}
	for name, test := range map[string]struct {
		installed []*metav1.APIResourceList
		needed    []schema.GroupVersionKind
		fail      error
		want      []string
		wantAsked int
	}{
		"all installed":                     {installed: []*metav1.APIResourceList{v1}, needed: []schema.GroupVersionKind{secret, pod}, wantAsked: 2},
		"a group is not":                    {installed: []*metav1.APIResourceList{v1}, needed: []schema.GroupVersionKind{secret, widget}, want: []string{"Widget.v1.x.test"}, wantAsked: 2},
		"a group is, the kind is not":       {installed: []*metav1.APIResourceList{v1, serving("x.test/v1", "Gadget")}, needed: []schema.GroupVersionKind{widget}, want: []string{"Widget.v1.x.test"}, wantAsked: 1},
		"installed in another version":      {installed: []*metav1.APIResourceList{serving("x.test/v2", "Widget")}, needed: []schema.GroupVersionKind{widget}, want: []string{"Widget.v1.x.test"}, wantAsked: 1},
		"the API server does not answer it": {needed: []schema.GroupVersionKind{secret}, fail: errors.New("unavailable"), wantAsked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := &clienttesting.Fake{Resources: test.installed}
			if test.fail != nil {
				f.AddReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.fail })
			}
			k := newTestKinds(f, test.needed...)
			got, err := k.check()
			if !errors.Is(err, test.fail) || !slices.Equal(got, test.want) || !slices.Equal(k.Missing(), test.want) {
				t.Errorf("got %v, %v, want %v, %v", got, err, test.want, test.fail)
			}
			if asked := len(f.Actions()); asked != test.wantAsked {
				t.Errorf("asked %d times, want %d", asked, test.wantAsked)
			}
			// A 404 means that a kind is missing only if discovery says so.
			notFound := apierrors.NewNotFound(schema.GroupResource{}, "a")
			if got := k.Explains(notFound); got != (test.want != nil) {
				t.Errorf("explains a 404: %v", got)
			}
			// Somebody has to wait until the kind is back.
			if suspected := len(k.Suspected) > 0; suspected != (test.want != nil) {
				t.Errorf("a check is asked for: %v", suspected)
			}
			if got := k.Explains(&meta.NoKindMatchError{}); got != (test.want != nil) {
				t.Errorf("explains a missing mapping: %v", got)
			}
			if k.Explains(errors.New("unavailable")) {
				t.Error("explains every error")
			}
		})
	}
}

// An API server that does not answer is asked again sooner than one that says that a
// kind is not installed.
func TestKindsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, start := &clienttesting.Fake{}, time.Now()
		f.AddReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			switch after := time.Since(start); {
			case after < 2*retry:
				return true, nil, errors.New("unavailable")
			case after > 3*time.Minute:
				f.Resources = []*metav1.APIResourceList{serving("v1", "Secret")}
			}
			return false, nil, nil
		})
		k := newTestKinds(f, schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
		changes := 0
		if !k.Wait(t.Context(), logr.Discard(), func() { changes++ }) {
			t.Error("the wait was given up")
		}
		// The reactor of the last call sets what the next one finds.
		if took := time.Since(start); took < 3*time.Minute || took > 5*time.Minute || changes != 1 || len(f.Actions()) > 7 {
			t.Errorf("took %s, %d changes, asked %d times", took, changes, len(f.Actions()))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f.Resources = nil
		if newTestKinds(&clienttesting.Fake{}, k.settings.Needed...).Wait(ctx, logr.Discard(), func() {}) {
			t.Error("waited for nothing")
		}
	})
}

// A suspicion never blocks a worker, and many are one.
func TestSuspect(t *testing.T) {
	k := newTestKinds(&clienttesting.Fake{})
	for range 3 {
		k.Suspect()
	}
	if n := len(k.Suspected); n != 1 {
		t.Errorf("%d checks are asked for", n)
	}
}

// listing returns kinds that are listed in some namespaces, or in all.
func listing(live client.Reader, namespaces ...string) *Kinds {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	return New(Settings{Live: live, Namespaces: namespaces, Interval: time.Minute})
}

// failsOnce is an API server whose first list fails.
type failsOnce struct {
	client.Reader
	err error
}

func (f *failsOnce) List(context.Context, client.ObjectList, ...client.ListOption) error {
	err := f.err
	f.err = nil
	return err
}

var onePod = []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}}

func TestAwaitListsRetriesSoonUnlessSomebodyHasToAct(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		err  error
		want time.Duration
	}{
		"everything can be listed": {},
		"the API server fails":     {errors.New("internal error"), 5 * time.Second},
		"it is overloaded":         {apierrors.NewTooManyRequests("later", 1), 5 * time.Second},
		"the CRD is missing":       {&meta.NoKindMatchError{}, time.Minute},
		"the resource is missing":  {apierrors.NewNotFound(pods, ""), time.Minute},
		"the permission is":        {apierrors.NewForbidden(pods, "", errors.New("no role")), time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, giveUp := range []bool{false, true} { // where nobody waits for a kind that may be missing
					began, want, gaveUp := time.Now(), test.want, giveUp && test.want == time.Minute
					if gaveUp {
						want = 0
					}
					listed := listing(&failsOnce{err: test.err}).AwaitLists(t.Context(), onePod, giveUp, logr.Discard())
					if waited := time.Since(began); listed == gaveUp || waited != want {
						t.Errorf("gives up %t: got %t after %s, want %s", giveUp, listed, waited, want)
					}
				}
			})
		})
	}
}

// confined may list in some namespaces only.
type confined struct {
	client.Reader
	to []string
}

func (c confined) List(_ context.Context, _ client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	if !slices.Contains(c.to, o.Namespace) {
		return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no role"))
	}
	return nil
}

func TestAwaitListsAsksInEachNamespace(t *testing.T) {
	for namespace, want := range map[string]bool{"a": true, "c": false, "": false} {
		got := listing(confined{to: []string{"a", "b"}}, "b", namespace).AwaitLists(t.Context(), onePod, true, logr.Discard())
		if got != want {
			t.Errorf("listed in b and %q: %t", namespace, got)
		}
	}
}

func TestAwaitListsEndsWithTheContext(t *testing.T) {
	live := &failsOnce{err: errors.New("internal error")}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if listing(live).AwaitLists(ctx, onePod, false, logr.Discard()) {
		t.Error("started without having listed anything")
	}
}

// A kind that could not be listed is missing until it is listed, whatever discovery says:
// the cache does not show what there is of it.
//
// Contract: STAT-12.
func TestAKindIsMissingUntilItIsListed(t *testing.T) {
	pod, other := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	notFound := apierrors.NewNotFound(schema.GroupResource{}, "")
	synctest.Test(t, func(t *testing.T) {
		k := newTestKinds(&clienttesting.Fake{Resources: []*metav1.APIResourceList{serving("v1", "Pod", "Secret")}}, pod)
		var back []bool
		k.settings.Interval = time.Hour
		k.settings.Back = func() { back = append(back, len(k.Missing()) > 0) }
		k.Listed(other, notFound)
		k.Listed(pod, errors.New("unavailable"))
		if missing, err := k.check(); err != nil || len(missing) > 0 || len(k.Suspected) > 0 {
			t.Errorf("missing %v, error %v", missing, err)
		}
		k.Listed(pod, notFound)
		if len(k.Suspected) != 1 {
			t.Error("no check is asked for")
		}
		returned, start := time.Duration(-1), time.Now()
		go func() {
			k.Wait(t.Context(), logr.Discard(), func() {})
			returned = time.Since(start)
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(k.Missing()) != 1 || len(back) > 0 || returned >= 0 {
			t.Errorf("missing %v, back %v, returned after %s", k.Missing(), back, returned)
		}
		k.Listed(pod, nil)
		synctest.Wait()
		if len(k.Missing()) > 0 || !slices.Equal(back, []bool{true}) || returned != time.Minute {
			t.Errorf("listed: missing %v, back %v while still missing, returned after %s", k.Missing(), back, returned)
		}
	})
}
