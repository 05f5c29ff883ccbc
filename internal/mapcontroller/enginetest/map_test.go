// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("The map", func() {
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
	present := func() []string { return widgets(ctx, ns) }

	It("creates outputs for inputs of several kinds, with labels and owner", func() {
		op.start()
		in := newConfigMap(ctx, ns, "a", "app=x")
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s", Labels: map[string]string{"app": "x"}}}
		Expect(api.Create(ctx, secret)).To(Succeed())
		newConfigMap(ctx, ns, "other", "app=y")
		b := newBucket(ctx, ns, "b", selecting("app=x"))

		Eventually(present).Should(ConsistOf("b-a", "b-s"))
		w := getWidget(ctx, ns, "b-a")
		Expect(w.Labels).To(Equal(map[string]string{keyLabel: string(in.UID), parentLabel: "b"}))
		Expect(w.OwnerReferences).To(Equal([]metav1.OwnerReference{{
			APIVersion: groupVersion.String(), Kind: "Bucket", Name: "b", UID: b.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}}))
		Expect(getWidget(ctx, ns, "b-s").Labels).To(HaveKeyWithValue(keyLabel, string(secret.UID)))
		Eventually(statusOf).WithArguments(ctx, b).Should(Equal(BucketStatus{
			ObservedGeneration: 1,
			Inputs:             map[string]int{"configmaps": 1, "secrets": 1},
			Outputs:            map[string]map[string]int{"widgets": {"total": 2}, "configmaps": {"total": 0}},
		}))
	})

	It("selects every input with an empty selector", func() {
		op.start()
		newConfigMap(ctx, ns, "a")
		newConfigMap(ctx, ns, "b", "app=x")
		newBucket(ctx, ns, "all")
		Eventually(present).Should(ConsistOf("all-a", "all-b"))
	})

	DescribeTable("does not map its own outputs, whatever the selector", func(byLabels bool) {
		op.program.Finalizer, op.program.ByLabels = "enginetest.mapcontroller.dev/release", func(*Bucket) bool { return byLabels }
		op.program.Map = func(r observation) decision {
			return desire(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: "copy-of-" + r.Input.GetName(), Labels: r.Input.GetLabels()},
			})
		}
		op.start()
		newConfigMap(ctx, ns, "a", "app=x")
		b := newBucket(ctx, ns, "b")
		Eventually(statusOf).WithArguments(ctx, b).Should(And(
			HaveField("Inputs", HaveKeyWithValue("configmaps", 1)),
			HaveField("Outputs", HaveKeyWithValue("configmaps", HaveKeyWithValue("total", 1)))))
		// When an input created later is mapped, the copies have been reconciled.
		newConfigMap(ctx, ns, "later")
		Eventually(op.mapCalls).Should(HaveKey("b/later"))
		var all corev1.ConfigMapList
		Consistently(func() []corev1.ConfigMap {
			Expect(api.List(ctx, &all, client.InNamespace(ns))).To(Succeed())
			return all.Items
		}).Should(WithTransform(func(items []corev1.ConfigMap) int {
			return len(items)
		}, BeNumerically("<=", 4)))
		Expect(op.mapCalls()).NotTo(HaveKey(ContainSubstring("copy-of-")))
	}, Entry("owned by reference", false), Entry("owned by labels", true))

	It("follows an input whose labels change to another parent, and back", func() {
		op.start()
		in := newConfigMap(ctx, ns, "a", "app=x")
		newBucket(ctx, ns, "x", selecting("app=x"))
		newBucket(ctx, ns, "y", selecting("app=y"))
		Eventually(present).Should(ConsistOf("x-a"))
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Labels["app"] = "y" })
		Eventually(present).Should(ConsistOf("y-a"))
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Labels["app"] = "x" })
		Eventually(present).Should(ConsistOf("x-a"))
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Labels = nil })
		Eventually(present).Should(BeEmpty())
	})

	It("follows a change of the parent's selector", func() {
		op.start()
		newConfigMap(ctx, ns, "a", "app=x")
		newConfigMap(ctx, ns, "b", "app=y")
		b := newBucket(ctx, ns, "p", selecting("app=x"))
		Eventually(present).Should(ConsistOf("p-a"))
		patch(ctx, b, selecting("app=y"))
		Eventually(present).Should(ConsistOf("p-b"))
		Eventually(statusOf).WithArguments(ctx, b).Should(And(
			HaveField("ObservedGeneration", BeEquivalentTo(2)), HaveField("DetachedKeys", 0)))
	})

	It("deletes detached outputs by default", func() {
		op.start()
		in := newConfigMap(ctx, ns, "a")
		newBucket(ctx, ns, "p")
		Eventually(present).Should(ConsistOf("p-a"))
		Expect(api.Delete(ctx, in)).To(Succeed())
		Eventually(present).Should(BeEmpty())
	})

	It("lets a tombstone keep or delete outputs, but not create any", func() {
		op.program.Map = func(r observation) decision {
			keep, remove := widgetFor(r), widgetFor(r)
			keep.Name += "-keep"
			remove.Name += "-delete"
			return desire(keep, remove)
		}
		op.program.Tombstone = func(r observation) decision {
			var d decision
			for _, o := range r.Outputs {
				if strings.HasSuffix(o.GetName(), "-keep") {
					d.Outputs = append(d.Outputs, o)
				}
			}
			d.Outputs = append(d.Outputs, &Widget{ObjectMeta: metav1.ObjectMeta{Name: "added"}})
			return d
		}
		op.start()
		in := newConfigMap(ctx, ns, "a")
		b := newBucket(ctx, ns, "p")
		Eventually(present).Should(ConsistOf("p-a-keep", "p-a-delete"))
		Expect(api.Delete(ctx, in)).To(Succeed())
		Eventually(present).Should(ConsistOf("p-a-keep"))
		Eventually(statusOf).WithArguments(ctx, b).Should(And(
			HaveField("DetachedKeys", 1), HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 1)))))
		Consistently(present).Should(ConsistOf("p-a-keep"))

		By("deleting the kept output after a restart without a tombstone")
		op.stop()
		again := newOperator(ns)
		again.start()
		Eventually(present).Should(BeEmpty())
	})

	It("creates and deletes nothing while the spec is invalid, and resumes when it is fixed", func() {
		op.start()
		in := newConfigMap(ctx, ns, "a")
		b := newBucket(ctx, ns, "p")
		Eventually(present).Should(ConsistOf("p-a"))
		patch(ctx, b, func(b *Bucket) { b.Spec.Invalid = true })
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Invalid", "spec.invalid is set"))
		Expect(api.Delete(ctx, in)).To(Succeed())
		newConfigMap(ctx, ns, "new")
		// When a valid parent has outputs for the same inputs, the invalid one has been reconciled too.
		newBucket(ctx, ns, "valid")
		Eventually(present).Should(ConsistOf("p-a", "valid-new"))
		Consistently(present).Should(ConsistOf("p-a", "valid-new"))
		patch(ctx, b, func(b *Bucket) { b.Spec.Invalid = false })
		Eventually(present).Should(ConsistOf("p-new", "valid-new"))
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Invalid", ""))
	})

	It("creates and deletes nothing for a parent that is being deleted", func() {
		op.start()
		b := newBucket(ctx, ns, "p", func(b *Bucket) { b.Finalizers = []string{holdFinalizer} })
		in := newConfigMap(ctx, ns, "a")
		Eventually(present).Should(ConsistOf("p-a"))
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("ObservedGeneration", BeEquivalentTo(1)))
		Expect(api.Delete(ctx, b)).To(Succeed())
		newBucket(ctx, ns, "q")
		Eventually(present).Should(ConsistOf("p-a", "q-a"))
		Expect(api.Delete(ctx, in)).To(Succeed())
		newConfigMap(ctx, ns, "new")
		Eventually(present).Should(ConsistOf("p-a", "q-new"))
		Consistently(present).Should(ConsistOf("p-a", "q-new"))
		patch(ctx, b, func(b *Bucket) { b.Finalizers = nil })
	})

	It("creates an output once, although the cache is stale", func() {
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("ObservedGeneration", BeEquivalentTo(1)))
		op.freeze("widgets")
		in := newConfigMap(ctx, ns, "a")
		Eventually(present).Should(ConsistOf("p-a"))
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": "b"} })
		newConfigMap(ctx, ns, "later")
		Eventually(present).Should(ConsistOf("p-a", "p-later"))
		op.waitUntilIdle()
		Expect(op.find("POST", "/widgets")).To(HaveLen(2))
		op.thaw()
		Eventually(op.mapCalls).Should(HaveKeyWithValue("p/a", BeNumerically(">=", 2)))
	})

	It("waits for a list that takes longer than controller-runtime would", func() {
		op.holdLists("widgets")
		op.start()
		newBucket(ctx, ns, "p")
		newConfigMap(ctx, ns, "a")
		Consistently(op.ended).WithTimeout(time.Second).ShouldNot(BeClosed())
		op.thaw()
		Eventually(present).Should(ConsistOf("p-a"))
	})

	It("reconciles one key for the event of one object", func() {
		op.program.Map = func(observation) decision { return decision{} }
		op.start()
		for i := range 500 {
			newConfigMap(ctx, ns, "in-"+string(rune('a'+i/26))+string(rune('a'+i%26)))
		}
		in := newConfigMap(ctx, ns, "one")
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Inputs", HaveKeyWithValue("configmaps", 501)))
		// An input can be mapped for the bucket's event before its own event is handled. When an
		// input created later is mapped, the events of all earlier ones have been.
		newConfigMap(ctx, ns, "later")
		Eventually(op.mapCalls).Should(HaveLen(502))
		op.waitUntilIdle()
		before := op.mapCalls()
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": "b"} })
		// The key is enqueued for the input before the change and after it, which a worker can come between.
		Eventually(op.mapCalls).Should(HaveKeyWithValue("p/one", BeNumerically(">", before["p/one"])))
		Consistently(op.mapCalls).Should(HaveKeyWithValue("p/one", BeNumerically("<=", before["p/one"]+2)))
		after := op.mapCalls()
		delete(before, "p/one")
		delete(after, "p/one")
		Expect(after).To(Equal(before))
	})

	It("requeues a key at the time that its decision requests", func() {
		var decisions atomic.Int32
		op.program.Map = func(r observation) decision {
			d := desire(widgetFor(r))
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
