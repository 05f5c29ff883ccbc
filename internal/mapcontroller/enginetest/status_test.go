// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

var _ = Describe("Status", func() {
	var (
		ctx context.Context
		ns  string
		op  *operator
	)
	BeforeEach(func(sctx SpecContext) {
		ctx = context.WithoutCancel(sctx)
		ns = newNamespace(ctx)
		op = newOperator(ns)
	})
	writes := func() []request { return op.sent("PATCH", "/status") }
	setReady := func(name string, status metav1.ConditionStatus) {
		GinkgoHelper()
		w := getWidget(ctx, ns, name)
		w.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: status, LastTransitionTime: metav1.Now(), Reason: "Test"}}
		Expect(user.Status().Update(ctx, w)).To(Succeed())
	}

	It("counts inputs, outputs, conditions and what is detached", func() {
		op.spec.Tombstone = func(r mapRequest) mapResult { return mapResult{Outputs: r.Outputs} }
		op.start()
		in := newConfigMap(ctx, ns, "a")
		newConfigMap(ctx, ns, "b")
		b := newBucket(ctx, ns, "p")
		status := func() BucketStatus { return statusOf(ctx, b) }
		Eventually(func() []string { return widgets(ctx, ns) }).Should(HaveLen(2))
		setReady("p-a", metav1.ConditionTrue)
		setReady("p-b", metav1.ConditionFalse)
		Eventually(status).Should(Equal(BucketStatus{
			ObservedGeneration: 1,
			Inputs:             map[string]int{"configmaps": 2},
			Outputs:            map[string]map[string]int{"widgets": {"total": 2, "ready": 1}},
		}))
		setReady("p-b", metav1.ConditionTrue)
		Eventually(status).Should(HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("ready", 2))))
		Expect(user.Delete(ctx, in)).To(Succeed())
		Eventually(status).Should(And(
			HaveField("DetachedKeys", 1), HaveField("Inputs", HaveKeyWithValue("configmaps", 1)),
			HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 2)))))
		Expect(user.Delete(ctx, getWidget(ctx, ns, "p-a"))).To(Succeed())
		Eventually(status).Should(And(
			HaveField("DetachedKeys", 0), HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 1)))))
	})

	It("settles under a new generation, and for a parent without keys", func() {
		op.start()
		b := newBucket(ctx, ns, "p")
		status := func() int64 { return statusOf(ctx, b).ObservedGeneration }
		Eventually(status).Should(BeEquivalentTo(1))
		newConfigMap(ctx, ns, "a")
		newConfigMap(ctx, ns, "b")
		change(ctx, b, func(b *Bucket) { b.Spec.Color = "red" })
		Eventually(status).Should(BeEquivalentTo(2))
	})

	It("settles for a parent that was made anew under its name", func() {
		op.start()
		newConfigMap(ctx, ns, "a")
		for range 5 {
			b := newBucket(ctx, ns, "p")
			Eventually(statusOf).WithArguments(ctx, b).Should(And(
				HaveField("ObservedGeneration", BeEquivalentTo(1)), HaveField("Inputs", HaveKeyWithValue("configmaps", 1))))
			Expect(user.Delete(ctx, b)).To(Succeed())
			// No garbage collector runs here.
			Expect(user.DeleteAllOf(ctx, &Widget{}, client.InNamespace(ns))).To(Succeed())
		}
	})

	It("is written once an interval at most, and wakes no key", func() {
		op.options.StatusInterval = time.Second
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("ObservedGeneration", BeEquivalentTo(1)))
		started := time.Now()
		for i := range 30 {
			newConfigMap(ctx, ns, fmt.Sprintf("in-%d", i))
			time.Sleep(100 * time.Millisecond)
		}
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 30))))
		most := int(time.Since(started)/op.options.StatusInterval) + 2
		Expect(writes()).To(HaveLen(len(writes())))
		Expect(len(writes())).To(BeNumerically("<=", most))

		op.quiet()
		looks := op.looks()
		b.Status.DetachedKeys = 77 // someone else writes it
		change(ctx, b, func(b *Bucket) { b.Annotations = map[string]string{"a": "b"} })
		before := b.DeepCopyObject().(*Bucket)
		b.Status.DetachedKeys = 77
		Expect(user.Status().Patch(ctx, b, client.MergeFrom(before))).To(Succeed())

		By("putting right what someone else wrote")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("DetachedKeys", 0))
		Expect(op.looks()).To(Equal(looks))
	})

	It("is put right when the cache was late", func() {
		op.start()
		b := newBucket(ctx, ns, "p")
		configmaps := func() int { return statusOf(ctx, b).Inputs["configmaps"] }
		in := newConfigMap(ctx, ns, "a")
		Eventually(configmaps).Should(Equal(1))
		op.quiet()
		op.freeze("buckets")
		newConfigMap(ctx, ns, "b")
		Eventually(configmaps).Should(Equal(2))
		// Back at one, as the cache shows it still: there seems nothing to write.
		Expect(user.Delete(ctx, in)).To(Succeed())
		Eventually(func() []string { return widgets(ctx, ns) }).Should(ConsistOf("p-b"))
		op.quiet()
		Expect(configmaps()).To(Equal(2))
		op.thaw()
		Eventually(configmaps).Should(Equal(1))
	})

	It("is never put together from two looks", func() {
		op.start()
		b := newBucket(ctx, ns, "p")
		configmaps := func() int { return statusOf(ctx, b).Inputs["configmaps"] }
		newConfigMap(ctx, ns, "a")
		Eventually(configmaps).Should(Equal(1))
		op.quiet()
		op.freeze("buckets")
		newConfigMap(ctx, ns, "b")
		Eventually(configmaps).Should(Equal(2))
		// What differs from the cached copy is not what differs from this status.
		op.forget()
		newConfigMap(ctx, ns, "c")
		Eventually(func() []request { return op.sent(http.MethodPatch, "/status") }).
			Should(ContainElement(HaveField("Status", http.StatusConflict)))
		Expect(configmaps()).To(Equal(2))
		op.thaw()
		Eventually(configmaps).Should(Equal(3))
	})

	It("costs nothing while nothing happens", func() {
		op.start()
		b := newBucket(ctx, ns, "p")
		for i := range 10 {
			newConfigMap(ctx, ns, fmt.Sprintf("in-%d", i))
		}
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 10))))
		op.quiet()
		looks := op.looks()
		op.forget()
		Consistently(func() []request { return op.sent("", "") }, "3s").Should(BeEmpty())
		Expect(op.looks()).To(Equal(looks))
	})

	It("looks again when a decision says so", func() {
		var decisions atomic.Int32
		op.spec.Map = func(r mapRequest) mapResult {
			d := want(widget(r))
			if decisions.Add(1) < 10 {
				d.Next = r.Now.Add(100 * time.Millisecond)
			}
			return d
		}
		op.start()
		newConfigMap(ctx, ns, "a")
		newBucket(ctx, ns, "p")
		Eventually(decisions.Load).Should(BeEquivalentTo(10))
	})
})

var _ = Describe("Many inputs", func() {
	It("are served once each, also over a restart", func(sctx SpecContext) {
		const many = 300
		ctx := context.WithoutCancel(sctx)
		ns := newNamespace(ctx)
		op := newOperator(ns)
		op.start()
		b := newBucket(ctx, ns, "p")
		for i := range many {
			newConfigMap(ctx, ns, fmt.Sprintf("in-%d", i))
		}
		served := HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", many)))
		Eventually(statusOf).WithArguments(ctx, b).Should(served)
		op.quiet()
		op.stop()
		posts := op.sent("POST", "")
		Expect(posts).To(And(HaveLen(many), HaveEach(HaveField("Status", 201))))
		Expect(op.written()).To(HaveEach(HaveField("Method", Or(Equal("POST"), Equal("PATCH")))))

		By("starting another manager")
		again := newOperator(ns)
		again.start()
		Eventually(again.looks).Should(HaveLen(many))
		again.quiet()
		Expect(again.written()).To(BeEmpty())
		Expect(statusOf(ctx, b)).To(served)
	})
})

var _ = Describe("A missing kind", func() {
	It("leaves the manager up, is told of, and is noticed when it comes, goes and comes back", func(sctx SpecContext) {
		ctx := context.WithoutCancel(sctx)
		ns := newNamespace(ctx)
		op := newOperator(ns)
		op.spec.Outputs = []mapcontroller.Output{{Object: &Gadget{}, Resource: "gadgets"}}
		op.spec.Map = func(r mapRequest) mapResult {
			return want(&Gadget{ObjectMeta: metav1.ObjectMeta{Name: r.Input.GetName()}})
		}
		op.start()
		b := newBucket(ctx, ns, "p")
		newConfigMap(ctx, ns, "a")
		missing := HaveField("Missing", ConsistOf("Gadget.v1.enginetest.mapcontroller.dev"))
		gadgets := func() (names []string) {
			var l GadgetList
			if err := user.List(ctx, &l, client.InNamespace(ns)); err != nil {
				return []string{err.Error()}
			}
			for _, g := range l.Items {
				names = append(names, g.Name)
			}
			return names
		}
		Eventually(statusOf).WithArguments(ctx, b).Should(missing)

		definitions := installLater()
		Eventually(gadgets).Should(ConsistOf("a"))
		Eventually(statusOf).WithArguments(ctx, b).Should(And(
			HaveField("Missing", BeEmpty()), HaveField("ObservedGeneration", BeEquivalentTo(1))))

		definitions.uninstall()
		newConfigMap(ctx, ns, "b")
		Eventually(statusOf).WithArguments(ctx, b).Should(missing)

		installLater()
		Eventually(gadgets, "60s").Should(ConsistOf("a", "b"))
		Eventually(statusOf, "60s").WithArguments(ctx, b).Should(And(
			HaveField("Missing", BeEmpty()), HaveField("Outputs", HaveKeyWithValue("gadgets", HaveKeyWithValue("total", 2)))))
	})

	It("may be an input", func(sctx SpecContext) {
		ctx := context.WithoutCancel(sctx)
		ns := newNamespace(ctx)
		op := newOperator(ns)
		op.spec.Inputs = []mapcontroller.Input{{Object: &Gadget{}, Resource: "gadgets"}}
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Missing", HaveLen(1)))
		installLater()
		Eventually(func() error {
			return user.Create(ctx, &Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "g"}})
		}).Should(Succeed())
		Eventually(func() []string { return widgets(ctx, ns) }).Should(ConsistOf("p-g"))
	})
})
