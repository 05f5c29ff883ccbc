// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

type (
	engine     = mapcontroller.MapController[*Bucket, note]
	mapRequest = mapcontroller.MapRequest[*Bucket]
	mapResult  = mapcontroller.Result[note]
)

// note is what a key tells of itself.
type note struct{ paused int }

const (
	keyLabel    = "enginetest.mapcontroller.dev/key"
	parentLabel = "enginetest.mapcontroller.dev/bucket"
)

// operator is a manager with one engine, in one namespace.
type operator struct {
	*wire
	namespace string
	options   mapcontroller.Options
	// cached narrows what the manager's cache holds.
	cached map[client.Object]cache.ByObject
	// spec can be changed until the operator is started.
	spec *engine
	stop func()

	mu       sync.Mutex
	maps     map[string]int
	failures []mapcontroller.Failure
	paused   int
}

// newOperator has a Widget for each ConfigMap and Secret, named after the bucket
// and the input.
func newOperator(namespace string) *operator {
	o := &operator{
		wire: newWire(), namespace: namespace, maps: map[string]int{},
		options: mapcontroller.Options{
			Workers:        8,
			StatusInterval: 200 * time.Millisecond,
			MaxClockSkew:   time.Minute,
			KindsInterval:  200 * time.Millisecond,
			Clock:          clock.RealClock{},
		},
	}
	o.spec = &engine{
		Name:      "enginetest",
		Tags:      mapcontroller.Tags{MapKey: keyLabel, Parent: parentLabel},
		NewParent: func() *Bucket { return &Bucket{} },
		Inputs: []mapcontroller.Input{
			{Object: &corev1.ConfigMap{}, Resource: "configmaps"},
			{Object: &corev1.Secret{}, Resource: "secrets"},
		},
		Outputs: []mapcontroller.Output{
			{Object: &Widget{}, Resource: "widgets"},
			{Object: &corev1.ConfigMap{}, Resource: "configmaps", UpdateInPlace: true},
		},
		Select: func(b *Bucket) (labels.Selector, error) {
			if b.Spec.Invalid {
				return nil, errors.New("spec.invalid is set")
			}
			return metav1.LabelSelectorAsSelector(&b.Spec.Selector)
		},
		Map:    func(r mapRequest) mapResult { return want(widget(r)) },
		Merge:  func(a, b note) note { return note{paused: a.paused + b.paused} },
		Status: setStatus,
	}
	return o
}

func want(outputs ...client.Object) mapResult { return mapResult{Outputs: outputs} }

func widget(r mapRequest) *Widget {
	return &Widget{
		ObjectMeta: metav1.ObjectMeta{Name: r.Parent.Name + "-" + r.Input.GetName()},
		Spec:       WidgetSpec{Color: r.Parent.Spec.Color},
	}
}

func setStatus(_ time.Time, b *Bucket, s mapcontroller.Situation[note]) {
	if s.Settled {
		b.Status.ObservedGeneration = b.Generation
	}
	b.Status.Missing, b.Status.Invalid = s.Missing, ""
	if s.Invalid != nil {
		b.Status.Invalid = s.Invalid.Error()
	}
	if s.Totals != nil {
		b.Status.Inputs, b.Status.Outputs = s.Totals.Inputs, s.Totals.Outputs
		b.Status.DetachedKeys, b.Status.Paused = s.Totals.DetachedKeys, s.Note.paused
	}
}

// start runs the operator until the spec ends, or stop is called.
func (o *operator) start() {
	GinkgoHelper()
	spec := *o.spec
	spec.Map = func(r mapRequest) mapResult {
		o.mu.Lock()
		o.maps[r.Parent.Name+"/"+r.Input.GetName()]++
		o.mu.Unlock()
		return o.spec.Map(r)
	}
	spec.Record = func(_ *Bucket, _ string, n note, outcome mapcontroller.Outcome) note {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.failures = append(o.failures, outcome.Failed...)
		if outcome.Paused != nil {
			o.paused++
			n.paused = 1
		}
		return n
	}

	server := rest.CopyConfig(server)
	server.Wrap(func(base http.RoundTripper) http.RoundTripper {
		o.base = base
		return mapcontroller.ServerClock{Base: o.wire, Clock: o.options.Clock}
	})
	options := o.options
	options.Stores = mapcontroller.NewStores()
	mgr, err := manager.New(server, manager.Options{
		Scheme: newScheme(),
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{o.namespace: {}},
			ByObject:          o.cached,
			NewInformer:       options.Stores.NewInformer,
		},
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Controller:             config.Controller{SkipNameValidation: new(true)},
	})
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	Expect(spec.SetupWithManager(mgr, options)).To(Succeed())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	o.stop = sync.OnceFunc(func() {
		GinkgoHelper()
		o.thaw()
		cancel()
		Eventually(done).Should(Receive(BeNil()), "the manager should end without an error, and only now")
	})
	DeferCleanup(o.stop)
}

// looks returns how often Map was asked about a key, as bucket/input.
func (o *operator) looks() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.maps)
}

// failed tells whether a write failed with an error.
func (o *operator) failed(verb string, target error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.failures {
		if f.Verb == verb && errors.Is(f.Err, target) {
			return true
		}
	}
	return false
}

// quiet returns when nothing was written for a while.
func (o *operator) quiet() {
	GinkgoHelper()
	Eventually(func() int {
		before := len(o.written())
		time.Sleep(300 * time.Millisecond)
		return len(o.written()) - before
	}).Should(BeZero())
}

func (o *operator) failedAtAll() []mapcontroller.Failure {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]mapcontroller.Failure(nil), o.failures...)
}

func (o *operator) timesPaused() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.paused
}

func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "engine-"}}
	Expect(user.Create(ctx, ns)).To(Succeed())
	return ns.Name
}

func newBucket(ctx context.Context, namespace, name string, change ...func(*Bucket)) *Bucket {
	GinkgoHelper()
	b := &Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, f := range change {
		f(b)
	}
	Expect(user.Create(ctx, b)).To(Succeed())
	return b
}

// selecting sets a bucket's selector to labels given as key=value.
func selecting(pairs ...string) func(*Bucket) {
	return func(b *Bucket) { b.Spec.Selector.MatchLabels = labelsOf(pairs) }
}

func labelsOf(pairs []string) map[string]string {
	all := map[string]string{}
	for _, p := range pairs {
		key, value, _ := strings.Cut(p, "=")
		all[key] = value
	}
	return all
}

func newConfigMap(ctx context.Context, namespace, name string, pairs ...string) *corev1.ConfigMap {
	GinkgoHelper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labelsOf(pairs)}}
	Expect(user.Create(ctx, c)).To(Succeed())
	return c
}

// change patches an object as it is on the API server.
func change[T client.Object](ctx context.Context, o T, f func(T)) {
	GinkgoHelper()
	Expect(user.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
	before := o.DeepCopyObject().(client.Object)
	f(o)
	Expect(user.Patch(ctx, o, client.MergeFrom(before))).To(Succeed())
}

// widgets returns the names of the widgets of a namespace.
func widgets(ctx context.Context, namespace string) []string {
	var l WidgetList
	if err := user.List(ctx, &l, client.InNamespace(namespace)); err != nil {
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
	Expect(user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &w)).To(Succeed())
	return &w
}

func statusOf(ctx context.Context, b *Bucket) BucketStatus {
	var now Bucket
	if err := user.Get(ctx, client.ObjectKeyFromObject(b), &now); err != nil {
		return BucketStatus{Invalid: err.Error()}
	}
	return now.Status
}
