// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// holdFinalizer is a finalizer that the engine does not know.
const holdFinalizer = "enginetest.mapcontroller.dev/hold"

// operator is a manager with one engine, in one namespace.
type operator struct {
	*transport
	namespace string
	program   *program
	// cached restricts what the manager's cache holds.
	cached map[client.Object]cache.ByObject
	stop   func()
	// ended is closed when the manager has ended.
	ended chan struct{}

	mu     sync.Mutex
	maps   map[string]int
	failed []failure
	pauses int
}

// failure is a write that failed.
type failure struct {
	verb string
	err  error
}

// newOperator returns an operator that is not started yet. Its program creates a Widget for each ConfigMap and Secret.
func newOperator(namespace string) *operator {
	return &operator{
		transport: newTransport(), namespace: namespace, program: newProgram(), maps: map[string]int{},
	}
}

func desire(outputs ...client.Object) decision { return decision{Outputs: outputs} }

func widgetFor(o observation) *Widget {
	return &Widget{
		ObjectMeta: metav1.ObjectMeta{Name: o.Parent.Name + "-" + o.Input.GetName()},
		Spec:       WidgetSpec{Color: o.Parent.Spec.Color},
	}
}

// start runs the operator until the spec ends, or stop is called.
func (o *operator) start() {
	GinkgoHelper()
	m, err := newManager(o)
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	ended := make(chan struct{})
	o.ended = ended
	go func() {
		done <- m.Start(ctx)
		close(ended)
	}()
	o.stop = sync.OnceFunc(func() {
		GinkgoHelper()
		o.thaw()
		cancel()
		Eventually(done).Should(Receive(BeNil()), "the manager should end without an error, and only now")
	})
	DeferCleanup(o.stop)
}

func (o *operator) recordMap(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.maps[key]++
}

func (o *operator) recordFailure(f failure) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = append(o.failed, f)
}

func (o *operator) recordPause() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pauses++
}

// mapCalls returns how often Map was called for each key, by bucket/input.
func (o *operator) mapCalls() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.maps)
}

func (o *operator) failures() []failure {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.failed)
}

// hasFailed returns whether a write failed with an error.
func (o *operator) hasFailed(verb string, target error) bool {
	return slices.ContainsFunc(o.failures(), func(f failure) bool { return f.verb == verb && errors.Is(f.err, target) })
}

func (o *operator) timesPaused() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pauses
}

// waitUntilIdle waits until the operator has written nothing, and mapped no key, for a while.
func (o *operator) waitUntilIdle() {
	GinkgoHelper()
	work := func() int {
		n := len(o.writes())
		for _, calls := range o.mapCalls() {
			n += calls
		}
		return n
	}
	Eventually(func() int {
		before := work()
		time.Sleep(time.Second)
		return work() - before
	}).Should(BeZero())
}

func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "engine-"}}
	Expect(api.Create(ctx, ns)).To(Succeed())
	return ns.Name
}

func newBucket(ctx context.Context, namespace, name string, changes ...func(*Bucket)) *Bucket {
	GinkgoHelper()
	b := &Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, change := range changes {
		change(b)
	}
	Expect(api.Create(ctx, b)).To(Succeed())
	return b
}

// selecting sets the selector of a bucket to labels, given as key=value.
func selecting(pairs ...string) func(*Bucket) {
	return func(b *Bucket) { b.Spec.Selector.MatchLabels = parseLabels(pairs) }
}

func parseLabels(pairs []string) map[string]string {
	all := map[string]string{}
	for _, p := range pairs {
		key, value, _ := strings.Cut(p, "=")
		all[key] = value
	}
	return all
}

func newConfigMap(ctx context.Context, namespace, name string, pairs ...string) *corev1.ConfigMap {
	GinkgoHelper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: parseLabels(pairs)}}
	Expect(api.Create(ctx, c)).To(Succeed())
	return c
}

// patch changes the current state of an object on the API server.
func patch[T client.Object](ctx context.Context, o T, change func(T)) {
	GinkgoHelper()
	Expect(api.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
	before := o.DeepCopyObject().(client.Object)
	change(o)
	Expect(api.Patch(ctx, o, client.MergeFrom(before))).To(Succeed())
}

// widgets returns the names of the widgets of a namespace.
func widgets(ctx context.Context, namespace string) []string {
	var l WidgetList
	if err := api.List(ctx, &l, client.InNamespace(namespace)); err != nil {
		return []string{err.Error()}
	}
	all := []string{}
	for _, w := range l.Items {
		all = append(all, w.Name)
	}
	return all
}

func getWidget(ctx context.Context, namespace, name string) *Widget {
	GinkgoHelper()
	var w Widget
	Expect(api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &w)).To(Succeed())
	return &w
}

func statusOf(ctx context.Context, b *Bucket) BucketStatus {
	var current Bucket
	if err := api.Get(ctx, client.ObjectKeyFromObject(b), &current); err != nil {
		return BucketStatus{Invalid: err.Error()}
	}
	return current.Status
}
