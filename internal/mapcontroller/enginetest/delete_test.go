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
	deletes := func() []request { return op.sent("DELETE", "") }
	BeforeEach(func(sctx SpecContext) {
		ctx = context.WithoutCancel(sctx)
		ns = newNamespace(ctx)
		op = newOperator(ns)
	})
	run := func() {
		GinkgoHelper()
		op.start()
		in = newConfigMap(ctx, ns, "a", "app=x")
		b = newBucket(ctx, ns, "p", selecting("app=x"))
		Eventually(statusOf).WithArguments(ctx, b).Should(
			HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 1))))
	}
	bucket := func() *Bucket { return &Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}} }
	// meanwhile does something on the API server between the first decision to
	// delete and the delete.
	meanwhile := func(do func()) *atomic.Int32 {
		decisions := &atomic.Int32{}
		op.spec.Tombstone = func(mapRequest) mapResult {
			if decisions.Add(1) == 1 {
				defer GinkgoRecover()
				do()
			}
			return mapResult{}
		}
		return decisions
	}

	It("names the UID and the version of what was decided on", func() {
		run()
		w := getWidget(ctx, ns, "p-a")
		Expect(user.Delete(ctx, in)).To(Succeed())
		Eventually(present).Should(BeEmpty())
		Expect(deletes()).To(HaveLen(1))
		var options metav1.DeleteOptions
		Expect(json.Unmarshal([]byte(deletes()[0].Body), &options)).To(Succeed())
		Expect(options.Preconditions).To(Equal(&metav1.Preconditions{UID: &w.UID, ResourceVersion: &w.ResourceVersion}))
	})

	It("is held back when the input's labels have changed back", func() {
		decisions := meanwhile(func() {
			input := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"}}
			change(ctx, input, func(c *corev1.ConfigMap) { c.Labels["app"] = "x" })
		})
		run()
		change(ctx, in, func(c *corev1.ConfigMap) { c.Labels["app"] = "y" })
		Eventually(decisions.Load).Should(BeNumerically(">", 0))
		op.quiet()
		Expect(deletes()).To(BeEmpty())
		Expect(present()).To(ConsistOf("p-a"))
	})

	It("is held back when the input is back", func() {
		op.spec.MapKey = func(o client.Object) string { return o.GetName() }
		decisions := meanwhile(func() { newConfigMap(ctx, ns, "a", "app=x") })
		run()
		w := getWidget(ctx, ns, "p-a")
		Expect(user.Delete(ctx, in)).To(Succeed())
		Eventually(decisions.Load).Should(BeNumerically(">", 0))
		op.quiet()
		Expect(deletes()).To(BeEmpty())
		Expect(getWidget(ctx, ns, "p-a").UID).To(Equal(w.UID))
	})

	It("reads the input by the name that the output remembers", func() {
		op.spec.Outputs[0].InputName = func(client.Object) string { return "a" }
		run()
		Expect(user.Delete(ctx, in)).To(Succeed())
		Eventually(present).Should(BeEmpty())
		Expect(op.sent("GET", "/configmaps/a")).NotTo(BeEmpty())
		Expect(op.sent("GET", "/secrets/a")).NotTo(BeEmpty())
	})

	It("is held back when the parent's generation has changed", func() {
		decisions := meanwhile(func() { change(ctx, bucket(), selecting()) })
		run()
		change(ctx, in, func(c *corev1.ConfigMap) { c.Labels["app"] = "y" })
		Eventually(decisions.Load).Should(BeNumerically(">", 0))
		op.quiet()
		Expect(deletes()).To(BeEmpty())
		Expect(present()).To(ConsistOf("p-a"))
	})

	It("is held back when the parent is being deleted", func() {
		decisions := meanwhile(func() {
			b := bucket()
			change(ctx, b, func(b *Bucket) { b.Finalizers = []string{wait} })
			Expect(user.Delete(ctx, b)).To(Succeed())
		})
		run()
		Expect(user.Delete(ctx, in)).To(Succeed())
		Eventually(decisions.Load).Should(BeNumerically(">", 0))
		op.quiet()
		Expect(deletes()).To(BeEmpty())
		Expect(present()).To(ConsistOf("p-a"))
		change(ctx, bucket(), func(b *Bucket) { b.Finalizers = nil })
	})

	It("is held back when the output has changed", func() {
		run()
		op.freeze("widgets")
		change(ctx, getWidget(ctx, ns, "p-a"), func(w *Widget) { w.Labels["touched"] = "yes" })
		Expect(user.Delete(ctx, in)).To(Succeed())
		Eventually(deletes).Should(ContainElement(HaveField("Status", 409)))
		Expect(present()).To(ConsistOf("p-a"))
		op.thaw()
		Eventually(present).Should(BeEmpty())
	})

	It("is held back when the evidence has changed", func() {
		two := func(r mapRequest) mapResult {
			first, second := widget(r), widget(r)
			first.Name += "-1"
			second.Name += "-2"
			return want(first, second)
		}
		op.spec.Map = two
		// It keeps the newest that is not spoilt.
		op.spec.Tombstone = func(r mapRequest) mapResult {
			var keep client.Object
			for _, o := range r.Outputs {
				if o.GetLabels()["spoilt"] == "" && (keep == nil || o.GetName() > keep.GetName()) {
					keep = o
				}
			}
			if keep == nil {
				return mapResult{Outputs: r.Outputs}
			}
			return mapResult{Outputs: []client.Object{keep}, Evidence: []client.Object{keep}}
		}
		op.start()
		in = newConfigMap(ctx, ns, "a")
		b = newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(
			HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 2))))
		op.freeze("widgets")
		change(ctx, getWidget(ctx, ns, "p-a-2"), func(w *Widget) { w.Labels["spoilt"] = "yes" })
		op.forget()
		Expect(user.Delete(ctx, in)).To(Succeed())
		Eventually(func() []request { return op.sent("GET", "/widgets/p-a-2") }).ShouldNot(BeEmpty())
		Expect(deletes()).To(BeEmpty())
		op.thaw()
		Eventually(present).Should(ConsistOf("p-a-1"))
	})

	DescribeTable("is held back while the clocks differ",
		func(ahead time.Duration) {
			run()
			op.lie(ahead)
			Expect(user.Delete(ctx, in)).To(Succeed())
			Eventually(op.timesPaused).Should(BeNumerically(">", 0))
			Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Paused", 1))
			Expect(deletes()).To(BeEmpty())

			By("creating all the same")
			newConfigMap(ctx, ns, "new", "app=x")
			Eventually(present).Should(ConsistOf("p-a", "p-new"))

			By("going on when they agree")
			op.lie(0)
			Eventually(present).Should(ConsistOf("p-new"))
			Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Paused", 0))
		},
		Entry("ours behind", 10*time.Minute),
		Entry("ours ahead", -10*time.Minute),
	)

	It("of one key is not stopped by that key's create, nor by those of others", func() {
		op.spec.Map = func(r mapRequest) mapResult {
			out := widget(r)
			if r.Input.GetAnnotations()["bad"] != "" {
				out.Name = "Not_A_Name"
			}
			return want(out)
		}
		run()
		change(ctx, in, func(c *corev1.ConfigMap) { c.Annotations = map[string]string{"bad": "yes"} })
		Eventually(present).Should(BeEmpty())
		newConfigMap(ctx, ns, "good", "app=x")
		Eventually(present).Should(ConsistOf("p-good"))
		Expect(op.failedAtAll()).To(HaveEach(HaveField("Verb", "create")))
		Expect(op.failedAtAll()).NotTo(BeEmpty())

		By("recovering when it is mended")
		change(ctx, in, func(c *corev1.ConfigMap) { c.Annotations = nil })
		Eventually(present).Should(ConsistOf("p-a", "p-good"))
	})

	It("keeps to the pace", func() {
		op.options.DeletesPerSecond = 4
		op.start()
		b = newBucket(ctx, ns, "p", selecting("app=x"))
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
			newConfigMap(ctx, ns, name, "app=x")
		}
		Eventually(present).Should(HaveLen(10))
		started := time.Now()
		change(ctx, b, selecting("app=none"))
		Eventually(present).Should(BeEmpty())
		// A burst of 4, then 6 more at 4 a second.
		Expect(time.Since(started)).To(BeNumerically(">", 1400*time.Millisecond))
	})
})
