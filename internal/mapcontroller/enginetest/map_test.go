// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"strings"

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

	It("makes outputs of inputs of several kinds, and tags them", func() {
		op.start()
		in := newConfigMap(ctx, ns, "a", "app=x")
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s", Labels: map[string]string{"app": "x"}}}
		Expect(user.Create(ctx, secret)).To(Succeed())
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
			Outputs:            map[string]map[string]int{"widgets": {"total": 2}},
		}))
	})

	It("takes every input where the selector is empty", func() {
		op.start()
		newConfigMap(ctx, ns, "a")
		newConfigMap(ctx, ns, "b", "app=x")
		newBucket(ctx, ns, "all")
		Eventually(present).Should(ConsistOf("all-a", "all-b"))
	})

	It("maps no output that is an input too, whatever the selector", func() {
		op.spec.Map = func(r mapRequest) mapResult {
			return want(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: "copy-of-" + r.Input.GetName(), Labels: r.Input.GetLabels()},
			})
		}
		op.start()
		newConfigMap(ctx, ns, "a", "app=x")
		b := newBucket(ctx, ns, "b")
		Eventually(statusOf).WithArguments(ctx, b).Should(And(
			HaveField("Inputs", HaveKeyWithValue("configmaps", 1)),
			HaveField("Outputs", HaveKeyWithValue("configmaps", HaveKeyWithValue("total", 1)))))
		// The copies have been looked at when one that came later has been mapped.
		newConfigMap(ctx, ns, "later")
		Eventually(op.looks).Should(HaveKey("b/later"))
		var all corev1.ConfigMapList
		Consistently(func() []corev1.ConfigMap {
			Expect(user.List(ctx, &all, client.InNamespace(ns))).To(Succeed())
			return all.Items
		}).Should(WithTransform(func(items []corev1.ConfigMap) int {
			return len(items)
		}, BeNumerically("<=", 4)))
		Expect(op.looks()).NotTo(HaveKey(ContainSubstring("copy-of-")))
	})

	It("moves an input out when its labels change, and back", func() {
		op.start()
		in := newConfigMap(ctx, ns, "a", "app=x")
		newBucket(ctx, ns, "x", selecting("app=x"))
		newBucket(ctx, ns, "y", selecting("app=y"))
		Eventually(present).Should(ConsistOf("x-a"))
		change(ctx, in, func(c *corev1.ConfigMap) { c.Labels["app"] = "y" })
		Eventually(present).Should(ConsistOf("y-a"))
		change(ctx, in, func(c *corev1.ConfigMap) { c.Labels["app"] = "x" })
		Eventually(present).Should(ConsistOf("x-a"))
		change(ctx, in, func(c *corev1.ConfigMap) { c.Labels = nil })
		Eventually(present).Should(BeEmpty())
	})

	It("follows the selector of the parent", func() {
		op.start()
		newConfigMap(ctx, ns, "a", "app=x")
		newConfigMap(ctx, ns, "b", "app=y")
		b := newBucket(ctx, ns, "p", selecting("app=x"))
		Eventually(present).Should(ConsistOf("p-a"))
		change(ctx, b, selecting("app=y"))
		Eventually(present).Should(ConsistOf("p-b"))
		Eventually(statusOf).WithArguments(ctx, b).Should(And(
			HaveField("ObservedGeneration", BeEquivalentTo(2)), HaveField("DetachedKeys", 0)))
	})

	It("deletes what is detached, by default", func() {
		op.start()
		in := newConfigMap(ctx, ns, "a")
		newBucket(ctx, ns, "p")
		Eventually(present).Should(ConsistOf("p-a"))
		Expect(user.Delete(ctx, in)).To(Succeed())
		Eventually(present).Should(BeEmpty())
	})

	It("lets a tombstone keep or drop, and nothing else", func() {
		op.spec.Map = func(r mapRequest) mapResult {
			keep, drop := widget(r), widget(r)
			keep.Name += "-keep"
			drop.Name += "-drop"
			return want(keep, drop)
		}
		op.spec.Tombstone = func(r mapRequest) mapResult {
			var d mapResult
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
		Eventually(present).Should(ConsistOf("p-a-keep", "p-a-drop"))
		Expect(user.Delete(ctx, in)).To(Succeed())
		Eventually(present).Should(ConsistOf("p-a-keep"))
		Eventually(statusOf).WithArguments(ctx, b).Should(And(
			HaveField("DetachedKeys", 1), HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 1)))))
		Consistently(present).Should(ConsistOf("p-a-keep"))

		By("not forgetting it over a restart")
		op.stop()
		again := newOperator(ns)
		again.start() // without a Tombstone
		Eventually(present).Should(BeEmpty())
	})

	It("neither creates nor deletes while the spec is invalid, and recovers", func() {
		op.start()
		in := newConfigMap(ctx, ns, "a")
		b := newBucket(ctx, ns, "p")
		Eventually(present).Should(ConsistOf("p-a"))
		change(ctx, b, func(b *Bucket) { b.Spec.Invalid = true })
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Invalid", "spec.invalid is set"))
		Expect(user.Delete(ctx, in)).To(Succeed())
		newConfigMap(ctx, ns, "new")
		// A valid parent sees the same inputs: when it has served them, the other
		// had its chance.
		newBucket(ctx, ns, "valid")
		Eventually(present).Should(ContainElement("valid-new"))
		Consistently(present).Should(ConsistOf("p-a", "valid-new"))
		change(ctx, b, func(b *Bucket) { b.Spec.Invalid = false })
		Eventually(present).Should(ConsistOf("p-new", "valid-new"))
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Invalid", ""))
	})

	It("writes nothing for a parent that is being deleted", func() {
		op.start()
		b := newBucket(ctx, ns, "p", func(b *Bucket) { b.Finalizers = []string{"enginetest.mapcontroller.dev/wait"} })
		in := newConfigMap(ctx, ns, "a")
		Eventually(present).Should(ConsistOf("p-a"))
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("ObservedGeneration", BeEquivalentTo(1)))
		Expect(user.Delete(ctx, b)).To(Succeed())
		newBucket(ctx, ns, "q")
		Eventually(present).Should(ConsistOf("p-a", "q-a"))
		Expect(user.Delete(ctx, in)).To(Succeed())
		newConfigMap(ctx, ns, "new")
		Eventually(present).Should(ConsistOf("p-a", "q-new"))
		Consistently(present).Should(ConsistOf("p-a", "q-new"))
		change(ctx, b, func(b *Bucket) { b.Finalizers = nil })
	})

	It("asks for an output once, though the cache is late", func() {
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("ObservedGeneration", BeEquivalentTo(1)))
		op.freeze("widgets")
		in := newConfigMap(ctx, ns, "a")
		Eventually(present).Should(ConsistOf("p-a"))
		change(ctx, in, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": "b"} })
		newConfigMap(ctx, ns, "later")
		Eventually(present).Should(ConsistOf("p-a", "p-later"))
		op.quiet()
		Expect(op.sent("POST", "/widgets")).To(HaveLen(2))
		op.thaw()
		Eventually(op.looks).Should(HaveKeyWithValue("p/a", BeNumerically(">=", 2)))
	})

	It("looks at one key for the event of one object", func() {
		op.spec.Map = func(mapRequest) mapResult { return mapResult{} }
		op.start()
		for i := range 500 {
			newConfigMap(ctx, ns, "in-"+string(rune('a'+i/26))+string(rune('a'+i%26)))
		}
		in := newConfigMap(ctx, ns, "one")
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Inputs", HaveKeyWithValue("configmaps", 501)))
		Eventually(op.looks).Should(HaveLen(501))
		before := op.looks()
		change(ctx, in, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": "b"} })
		before["p/one"]++
		Eventually(op.looks).Should(Equal(before))
		Consistently(op.looks).Should(Equal(before))
	})
})
