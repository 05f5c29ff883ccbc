// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("A delete", func() {
	var (
		ctx context.Context
		ns  string
		op  *operator
		in  *corev1.ConfigMap
		b   *Bucket
	)
	present := func() []string { return widgets(ctx, ns) }
	deletes := func() []request { return op.find("DELETE", "") }
	BeforeEach(func(sctx SpecContext) {
		ctx = context.WithoutCancel(sctx)
		ns = newNamespace(ctx)
		op = newOperator(ns)
	})
	start := func() {
		GinkgoHelper()
		op.start()
		in = newConfigMap(ctx, ns, "a", "app=x")
		b = newBucket(ctx, ns, "p", selecting("app=x"))
		Eventually(statusOf).WithArguments(ctx, b).Should(
			HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 1))))
	}
	bucket := func() *Bucket { return &Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}} }
	// duringDecision calls do between the first decision to delete and the delete. It returns the number of decisions.
	duringDecision := func(do func()) *atomic.Int32 {
		decisions := &atomic.Int32{}
		op.program.Tombstone = func(observation) decision {
			if decisions.Add(1) == 1 {
				defer GinkgoRecover()
				do()
			}
			return decision{}
		}
		return decisions
	}

	// Contract: GUARD-1.
	It("carries the UID and resourceVersion of the decision as preconditions", func() {
		start()
		w := getWidget(ctx, ns, "p-a")
		Expect(api.Delete(ctx, in)).To(Succeed())
		Eventually(present).Should(BeEmpty())
		Eventually(deletes).Should(HaveLen(1), "a request is recorded after its response")
		var options metav1.DeleteOptions
		Expect(json.Unmarshal([]byte(deletes()[0].Body), &options)).To(Succeed())
		Expect(options.Preconditions).To(Equal(&metav1.Preconditions{UID: &w.UID, ResourceVersion: &w.ResourceVersion}))
	})

	It("is not sent if a live read shows that the input is selected again", func() {
		decisions := duringDecision(func() {
			input := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"}}
			patch(ctx, input, func(c *corev1.ConfigMap) { c.Labels["app"] = "x" })
		})
		start()
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Labels["app"] = "y" })
		Eventually(decisions.Load).Should(BeNumerically(">", 0))
		op.waitUntilIdle()
		Expect(deletes()).To(BeEmpty())
		Expect(present()).To(ConsistOf("p-a"))
	})

	It("is not sent if a live read shows that the input exists again", func() {
		op.program.MapKey = func(o client.Object) string { return o.GetName() }
		decisions := duringDecision(func() { newConfigMap(ctx, ns, "a", "app=x") })
		start()
		w := getWidget(ctx, ns, "p-a")
		Expect(api.Delete(ctx, in)).To(Succeed())
		Eventually(decisions.Load).Should(BeNumerically(">", 0))
		op.waitUntilIdle()
		Expect(deletes()).To(BeEmpty())
		Expect(getWidget(ctx, ns, "p-a").UID).To(Equal(w.UID))
	})

	It("is preceded by a live list of the namespace's inputs, of each kind", func() {
		start()
		lists := func() []int {
			return []int{len(op.find("GET", ns+"/configmaps")), len(op.find("GET", ns+"/secrets"))}
		}
		before := lists()
		Expect(api.Delete(ctx, in)).To(Succeed())
		Eventually(present).Should(BeEmpty())
		Expect(lists()).To(Equal([]int{before[0] + 1, before[1] + 1}))
	})

	It("is not sent if a live read shows another generation of the parent", func() {
		decisions := duringDecision(func() { patch(ctx, bucket(), selecting()) })
		start()
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Labels["app"] = "y" })
		Eventually(decisions.Load).Should(BeNumerically(">", 0))
		op.waitUntilIdle()
		Expect(deletes()).To(BeEmpty())
		Expect(present()).To(ConsistOf("p-a"))
	})

	It("is not sent if a live read shows that the parent is being deleted", func() {
		decisions := duringDecision(func() {
			b := bucket()
			patch(ctx, b, func(b *Bucket) { b.Finalizers = []string{holdFinalizer} })
			Expect(api.Delete(ctx, b)).To(Succeed())
		})
		start()
		Expect(api.Delete(ctx, in)).To(Succeed())
		Eventually(decisions.Load).Should(BeNumerically(">", 0))
		op.waitUntilIdle()
		Expect(deletes()).To(BeEmpty())
		Expect(present()).To(ConsistOf("p-a"))
		patch(ctx, bucket(), func(b *Bucket) { b.Finalizers = nil })
	})

	It("fails if the output has changed", func() {
		start()
		op.freeze("widgets")
		patch(ctx, getWidget(ctx, ns, "p-a"), func(w *Widget) { w.Labels["touched"] = "yes" })
		Expect(api.Delete(ctx, in)).To(Succeed())
		Eventually(deletes).Should(ContainElement(HaveField("Status", 409)))
		Expect(present()).To(ConsistOf("p-a"))
		op.thaw()
		Eventually(present).Should(BeEmpty())
	})

	It("is not sent if a live read shows that the evidence has changed", func() {
		two := func(r observation) decision {
			first, second := widgetFor(r), widgetFor(r)
			first.Name += "-1"
			second.Name += "-2"
			return desire(first, second)
		}
		op.program.Map = two
		// The tombstone keeps the last output that is not spoiled, as evidence.
		op.program.Tombstone = func(r observation) decision {
			var keep client.Object
			for _, o := range r.Outputs {
				if o.GetLabels()["spoiled"] == "" && (keep == nil || o.GetName() > keep.GetName()) {
					keep = o
				}
			}
			if keep == nil {
				return decision{Outputs: r.Outputs}
			}
			return decision{Outputs: []client.Object{keep}, Evidence: []client.Object{keep}}
		}
		op.start()
		in = newConfigMap(ctx, ns, "a")
		b = newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(
			HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 2))))
		op.freeze("widgets")
		patch(ctx, getWidget(ctx, ns, "p-a-2"), func(w *Widget) { w.Labels["spoiled"] = "yes" })
		op.resetRequests()
		Expect(api.Delete(ctx, in)).To(Succeed())
		Eventually(func() []request { return op.find("GET", "/widgets/p-a-2") }).ShouldNot(BeEmpty())
		Expect(deletes()).To(BeEmpty())
		op.thaw()
		Eventually(present).Should(ConsistOf("p-a-1"))
	})

	DescribeTable("is not sent while the clocks differ",
		func(ahead time.Duration) {
			start()
			op.setServerClockAhead(ahead)
			Expect(api.Delete(ctx, in)).To(Succeed())
			Eventually(op.timesPaused).Should(BeNumerically(">", 0))
			Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Paused", 1))
			Expect(deletes()).To(BeEmpty())

			By("creating outputs all the same")
			newConfigMap(ctx, ns, "new", "app=x")
			Eventually(present).Should(ConsistOf("p-a", "p-new"))

			By("resuming when they agree")
			op.setServerClockAhead(0)
			Eventually(present).Should(ConsistOf("p-new"))
			Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Paused", 0))
		},
		Entry("the local clock is behind", 10*time.Minute),
		Entry("the local clock is ahead", -10*time.Minute),
	)

	It("is not prevented by failing creates, of its key or of others", func() {
		op.program.Map = func(r observation) decision {
			out := widgetFor(r)
			if r.Input.GetAnnotations()["bad"] != "" {
				out.Name = "Not_A_Name"
			}
			return desire(out)
		}
		start()
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Annotations = map[string]string{"bad": "yes"} })
		Eventually(present).Should(BeEmpty())
		newConfigMap(ctx, ns, "good", "app=x")
		Eventually(present).Should(ConsistOf("p-good"))
		Expect(op.failures()).To(HaveEach(WithTransform(func(f failure) string { return f.verb }, Equal("create"))))
		Expect(op.failures()).NotTo(BeEmpty())

		By("creating the output when the input is fixed")
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Annotations = nil })
		Eventually(present).Should(ConsistOf("p-a", "p-good"))
	})

	It("respects the rate limit", func() {
		op.program.DeletesPerSecond = 4
		op.start()
		b = newBucket(ctx, ns, "p", selecting("app=x"))
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
			newConfigMap(ctx, ns, name, "app=x")
		}
		Eventually(present).Should(HaveLen(10))
		started := time.Now()
		patch(ctx, b, selecting("app=none"))
		Eventually(present).Should(BeEmpty())
		// A burst of 4, then 6 more at 4 per second.
		Expect(time.Since(started)).To(BeNumerically(">", 1400*time.Millisecond))
	})
})
