// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// Only what may have been released costs a live read.
func TestVanishedAsksForWhatMayHaveBeenReleased(t *testing.T) {
	for name, test := range map[string]struct {
		output  client.Object
		deleted bool // by us
		want    int
	}{
		"an owned output that went": {output: testOutput("a"), want: 1},
		"one that was being deleted": {output: testOutput("a", func(p *corev1.Pod) {
			p.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		})},
		"one that we deleted": {output: testOutput("a"), deleted: true},
		"an orphan":           {output: testOutput("a", func(p *corev1.Pod) { p.OwnerReferences = nil })},
	} {
		t.Run(name, func(t *testing.T) {
			parent := testParent()
			b := newBench(t, nil, nil)
			if test.deleted {
				b = newBench(t, nil, []client.Object{test.output})
				b.writer(parent).delete(context.Background(), stored(t, b, test.output), "")
			}
			r := &releaser[*corev1.ConfigMap, string]{
				controller: b.testController,
				parentKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
			}
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[Release]())
			defer q.ShutDown()
			r.vanished(0).Delete(context.Background(), event.TypedDeleteEvent[client.Object]{Object: test.output}, q)
			if q.Len() != test.want {
				t.Errorf("%d looks asked for, want %d", q.Len(), test.want)
			}
		})
	}
}

// What is not released goes to the garbage collector: that a list finds no such
// kind is believed only if the API server says so where it was asked for it.
func TestReleaseAllDoesNotBelieveA404(t *testing.T) {
	for name, test := range map[string]struct {
		served  bool
		wantErr bool
	}{
		"the kind is served": {served: true, wantErr: true},
		"it is not":          {},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			resources := &metav1.APIResourceList{GroupVersion: "v1"}
			if test.served {
				resources.APIResources = []metav1.APIResource{{Name: "pods", Kind: "Pod"}}
			}
			b.kinds = &servedKinds{
				discovery: &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: []*metav1.APIResourceList{resources}}},
				needed:    []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")},
			}
			b.live = interceptor.NewClient(b.real.(client.WithWatch), interceptor.Funcs{
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
					return apierrors.NewNotFound(podsResource, "")
				},
			})
			if err := b.releaseAll(context.Background(), testParent()); (err != nil) != test.wantErr {
				t.Errorf("got %v, want an error: %v", err, test.wantErr)
			}
		})
	}
}

func stored(t *testing.T, b *bench, o client.Object) client.Object {
	t.Helper()
	there := emptyLike(o)
	if err := b.real.Get(context.Background(), client.ObjectKeyFromObject(o), there); err != nil {
		t.Fatal(err)
	}
	return there
}

// A cache that does not know the parent yet must not lose a release: it is asked
// for once.
func TestReleaseAsksTheAPIServerForTheParent(t *testing.T) {
	untagged := testOutput("a", func(p *corev1.Pod) { delete(p.Labels, testTags.MapKey) })
	b := newBench(t, nil, []client.Object{testParent(), untagged})
	r := &releaser[*corev1.ConfigMap, string]{
		controller: b.testController,
		parentKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	}
	if err := r.release(context.Background(), stored(t, b, untagged)); err != nil {
		t.Fatal(err)
	}
	if owners := stored(t, b, untagged).GetOwnerReferences(); len(owners) > 0 {
		t.Errorf("it is owned still: %v", owners)
	}
}

// A delete that was refused must not hide a release that follows.
func TestRefusedDeleteIsNotRemembered(t *testing.T) {
	b := newBench(t, nil, nil) // there is nothing to delete
	o := testOutput("a")
	b.writer(testParent()).delete(context.Background(), o, "")
	if _, known := b.deleted.Get(o.GetUID()); known {
		t.Error("the delete is remembered")
	}
}
