// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	writes := func() []request { return op.find("PATCH", "/status") }
	setReady := func(name string, status metav1.ConditionStatus) {
		GinkgoHelper()
		w := getWidget(ctx, ns, name)
		w.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: status, LastTransitionTime: metav1.Now(), Reason: "Test"}}
		Expect(api.Status().Update(ctx, w)).To(Succeed())
	}

	It("counts inputs, outputs, conditions and detached keys", func() {
		op.program.Tombstone = func(r observation) decision { return decision{Outputs: r.Outputs} }
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
			Inputs:             map[string]int{"configmaps": 2, "secrets": 0},
			Outputs:            map[string]map[string]int{"widgets": {"total": 2, "ready": 1}, "configmaps": {"total": 0}},
		}))
		setReady("p-b", metav1.ConditionTrue)
		Eventually(status).Should(HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("ready", 2))))
		Expect(api.Delete(ctx, in)).To(Succeed())
		Eventually(status).Should(And(
			HaveField("DetachedKeys", 1), HaveField("Inputs", HaveKeyWithValue("configmaps", 1)),
			HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 2)))))
		Expect(api.Delete(ctx, getWidget(ctx, ns, "p-a"))).To(Succeed())
		Eventually(status).Should(And(
			HaveField("DetachedKeys", 0), HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 1)))))
	})

	It("observes a new generation, and a parent without keys", func() {
		op.start()
		b := newBucket(ctx, ns, "p")
		status := func() int64 { return statusOf(ctx, b).ObservedGeneration }
		Eventually(status).Should(BeEquivalentTo(1))
		newConfigMap(ctx, ns, "a")
		newConfigMap(ctx, ns, "b")
		patch(ctx, b, func(b *Bucket) { b.Spec.Color = "red" })
		Eventually(status).Should(BeEquivalentTo(2))
	})

	It("observes a parent that is created again under its name", func() {
		op.start()
		newConfigMap(ctx, ns, "a")
		for range 5 {
			b := newBucket(ctx, ns, "p")
			Eventually(statusOf).WithArguments(ctx, b).Should(And(
				HaveField("ObservedGeneration", BeEquivalentTo(1)), HaveField("Inputs", HaveKeyWithValue("configmaps", 1))))
			Expect(api.Delete(ctx, b)).To(Succeed())
			// No garbage collector runs here.
			Expect(api.DeleteAllOf(ctx, &Widget{}, client.InNamespace(ns))).To(Succeed())
		}
	})

	It("is written at most once per interval, and requeues no key", func() {
		op.program.StatusInterval = time.Second
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("ObservedGeneration", BeEquivalentTo(1)))
		started := time.Now()
		for i := range 30 {
			newConfigMap(ctx, ns, fmt.Sprintf("in-%d", i))
			time.Sleep(100 * time.Millisecond)
		}
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 30))))
		most := int(time.Since(started)/op.program.StatusInterval) + 2
		Expect(len(writes())).To(BeNumerically("<=", most))

		op.waitUntilIdle()
		calls := op.mapCalls()
		b.Status.DetachedKeys = 77
		patch(ctx, b, func(b *Bucket) { b.Annotations = map[string]string{"a": "b"} })
		before := b.DeepCopyObject().(*Bucket)
		b.Status.DetachedKeys = 77
		Expect(api.Status().Patch(ctx, b, client.MergeFrom(before))).To(Succeed())

		By("restoring what someone else wrote")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("DetachedKeys", 0))
		Expect(op.mapCalls()).To(Equal(calls))
	})

	It("is corrected after the cache was stale", func() {
		op.start()
		b := newBucket(ctx, ns, "p")
		configmaps := func() int { return statusOf(ctx, b).Inputs["configmaps"] }
		in := newConfigMap(ctx, ns, "a")
		Eventually(configmaps).Should(Equal(1))
		op.waitUntilIdle()
		op.freeze("buckets")
		newConfigMap(ctx, ns, "b")
		Eventually(configmaps).Should(Equal(2))
		// The count is one again, as in the stale cache: there seems to be nothing to write.
		Expect(api.Delete(ctx, in)).To(Succeed())
		Eventually(func() []string { return widgets(ctx, ns) }).Should(ConsistOf("p-b"))
		op.waitUntilIdle()
		Expect(configmaps()).To(Equal(2))
		op.thaw()
		Eventually(configmaps).Should(Equal(1))
	})

	It("is never merged from two writes", func() {
		op.start()
		b := newBucket(ctx, ns, "p")
		configmaps := func() int { return statusOf(ctx, b).Inputs["configmaps"] }
		newConfigMap(ctx, ns, "a")
		Eventually(configmaps).Should(Equal(1))
		op.waitUntilIdle()
		op.freeze("buckets")
		newConfigMap(ctx, ns, "b")
		Eventually(configmaps).Should(Equal(2))
		// A patch against the cached status would be wrong for the current one: it must conflict.
		op.resetRequests()
		newConfigMap(ctx, ns, "c")
		Eventually(func() []request { return op.find(http.MethodPatch, "/status") }).
			Should(ContainElement(HaveField("Status", http.StatusConflict)))
		Expect(configmaps()).To(Equal(2))
		op.thaw()
		Eventually(configmaps).Should(Equal(3))
	})

	It("causes no request while nothing happens", func() {
		op.start()
		b := newBucket(ctx, ns, "p")
		for i := range 10 {
			newConfigMap(ctx, ns, fmt.Sprintf("in-%d", i))
		}
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 10))))
		op.waitUntilIdle()
		calls := op.mapCalls()
		op.resetRequests()
		Consistently(func() []request { return op.find("", "") }, "6s").Should(BeEmpty(), "no discovery of kinds, either")
		Expect(op.mapCalls()).To(Equal(calls))
	})
})

var _ = Describe("Many inputs", func() {
	It("are mapped once each, also over a restart", func(sctx SpecContext) {
		const many = 300
		ctx := context.WithoutCancel(sctx)
		ns := newNamespace(ctx)
		op := newOperator(ns)
		op.start()
		b := newBucket(ctx, ns, "p")
		for i := range many {
			newConfigMap(ctx, ns, fmt.Sprintf("in-%d", i))
		}
		complete := HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", many)))
		Eventually(statusOf).WithArguments(ctx, b).Should(complete)
		op.waitUntilIdle()
		op.stop()
		posts := op.find("POST", "")
		Expect(posts).To(And(HaveLen(many), HaveEach(HaveField("Status", 201))))
		Expect(op.writes()).To(HaveEach(HaveField("Method", Or(Equal("POST"), Equal("PATCH")))))

		By("starting another manager")
		again := newOperator(ns)
		again.start()
		Eventually(again.mapCalls).Should(HaveLen(many))
		again.waitUntilIdle()
		Expect(again.writes()).To(BeEmpty())
		Expect(statusOf(ctx, b)).To(complete)
	})
})

var _ = Describe("A missing kind", func() {
	It("does not end the manager, is reported, and is detected when it is installed, removed and installed again", func(sctx SpecContext) {
		ctx := context.WithoutCancel(sctx)
		ns := newNamespace(ctx)
		op := newOperator(ns)
		op.program.Outputs = []outputKind{{Object: &Gadget{}, Resource: "gadgets"}}
		op.program.Map = func(r observation) decision {
			return desire(&Gadget{ObjectMeta: metav1.ObjectMeta{Name: r.Input.GetName()}})
		}
		op.start()
		b := newBucket(ctx, ns, "p")
		newConfigMap(ctx, ns, "a")
		missing := HaveField("Missing", ConsistOf("Gadget.v1.enginetest.mapcontroller.dev"))
		gadgets := func() (names []string) {
			var l GadgetList
			if err := api.List(ctx, &l, client.InNamespace(ns)); err != nil {
				return []string{err.Error()}
			}
			for _, g := range l.Items {
				names = append(names, g.Name)
			}
			return names
		}
		Eventually(statusOf).WithArguments(ctx, b).Should(missing)

		uninstall := installGadgets()
		Eventually(gadgets).Should(ConsistOf("a"))
		Eventually(statusOf).WithArguments(ctx, b).Should(And(
			HaveField("Missing", BeEmpty()), HaveField("ObservedGeneration", BeEquivalentTo(1))))

		uninstall()
		newConfigMap(ctx, ns, "b")
		Eventually(statusOf).WithArguments(ctx, b).Should(missing)

		installGadgets()
		Eventually(gadgets, "60s").Should(ConsistOf("a", "b"))
		Eventually(statusOf, "60s").WithArguments(ctx, b).Should(And(
			HaveField("Missing", BeEmpty()), HaveField("Outputs", HaveKeyWithValue("gadgets", HaveKeyWithValue("total", 2)))))
	})

	It("may be an input", func(sctx SpecContext) {
		ctx := context.WithoutCancel(sctx)
		ns := newNamespace(ctx)
		op := newOperator(ns)
		op.program.Inputs = []inputKind{{Object: &Gadget{}, Resource: "gadgets"}}
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Missing", HaveLen(1)))
		installGadgets()
		Eventually(func() error {
			return api.Create(ctx, &Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "g"}})
		}).Should(Succeed())
		Eventually(func() []string { return widgets(ctx, ns) }).Should(ConsistOf("p-g"))
	})
})
