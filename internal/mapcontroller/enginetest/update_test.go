// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("An output that is updated in place", func() {
	var (
		ctx context.Context
		ns  string
		op  *operator
		in  *corev1.ConfigMap
	)
	copied := func() map[string]string {
		var c corev1.ConfigMap
		if err := api.Get(ctx, client.ObjectKey{Namespace: ns, Name: "copy-of-a"}, &c); err != nil {
			return map[string]string{"error": err.Error()}
		}
		return c.Data
	}
	BeforeEach(func(sctx SpecContext) {
		ctx = context.WithoutCancel(sctx)
		ns = newNamespace(ctx)
		op = newOperator(ns)
		// The output shares its data with the cached input, as in a careless Map.
		op.program.Map = func(r observation) decision {
			return desire(&corev1.ConfigMap{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Name: "copy-of-" + r.Input.GetName()},
				Data:       r.Input.(*corev1.ConfigMap).Data,
			})
		}
	})
	start := func() {
		GinkgoHelper()
		in = newConfigMap(ctx, ns, "a", "app=x")
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Data = map[string]string{"one": "1", "two": "2"} })
		op.start() // now: the bucket could overtake the data
		newBucket(ctx, ns, "p", selecting("app=x"))
		Eventually(copied).Should(Equal(map[string]string{"one": "1", "two": "2"}))
	}
	// reconcile changes the input, and waits until its key is reconciled.
	reconcile := func() {
		GinkgoHelper()
		before := op.mapCalls()["p/a"]
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Annotations = map[string]string{"touched": c.ResourceVersion} })
		Eventually(op.mapCalls).Should(HaveKeyWithValue("p/a", BeNumerically(">", before)))
	}

	It("is created with one request, and not written while it is as desired", func() {
		start()
		reconcile()
		op.waitUntilIdle()
		Expect(op.writes()).To(And(
			ContainElement(HaveField("Method", "POST")),
			HaveEach(HaveField("Path", Or(HaveSuffix("/configmaps"), HaveSuffix("/status"))))))
	})

	It("follows the desired one, and keeps what its kind's Update does not change", func() {
		start()
		patch(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "copy-of-a"}},
			func(c *corev1.ConfigMap) {
				c.Data["foreign"] = "goes"
				c.Annotations = map[string]string{"foreign": "stays"}
			})
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Data = map[string]string{"two": "II"} })
		Eventually(copied).Should(Equal(map[string]string{"two": "II"}))
		op.waitUntilIdle()
		op.resetRequests()
		reconcile()
		Consistently(op.writes).Should(BeEmpty())

		var c corev1.ConfigMap
		Expect(api.Get(ctx, client.ObjectKey{Namespace: ns, Name: "copy-of-a"}, &c)).To(Succeed())
		Expect(c.Annotations).To(HaveKeyWithValue("foreign", "stays"))
		Expect(c.Labels).To(And(HaveKeyWithValue(keyLabel, string(in.UID)), HaveKeyWithValue(parentLabel, "p")))
		Expect(metav1.GetControllerOf(&c)).To(HaveField("Name", "p"))
	})

	It("is restored when someone changes a desired field", func() {
		start()
		patch(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "copy-of-a"}},
			func(c *corev1.ConfigMap) { c.Data["one"] = "wrong" })
		Eventually(copied).Should(HaveKeyWithValue("one", "1"))
	})

	It("may be derived from the observed one", func() {
		op.program.Map = func(r observation) decision {
			out := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "copy-of-" + r.Input.GetName()}}
			if len(r.Outputs) > 0 {
				out = r.Outputs[0].DeepCopyObject().(*corev1.ConfigMap)
			}
			out.Data = r.Input.(*corev1.ConfigMap).Data
			return desire(out)
		}
		start()
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Data = map[string]string{"two": "II"} })
		Eventually(copied).Should(Equal(map[string]string{"two": "II"}))
		op.waitUntilIdle()
		op.resetRequests()
		reconcile()
		Consistently(op.writes).Should(BeEmpty())
	})

	It("is not written after it was released, while the cache is stale", func() {
		original := op.program.Map
		op.program.Map = func(r observation) decision {
			d := original(r)
			if r.Parent.Spec.Color != "" {
				d.Outputs[0].(*corev1.ConfigMap).Data = map[string]string{"new": "data"}
			}
			return d
		}
		start()
		op.freeze("configmaps")
		out := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "copy-of-a"}}
		patch(ctx, out, func(c *corev1.ConfigMap) { c.OwnerReferences, c.Labels = nil, nil })
		// The change of the parent requeues the key while the cache is stale.
		bucket := &Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}}
		before := op.mapCalls()["p/a"]
		patch(ctx, bucket, func(b *Bucket) { b.Spec.Color = "red" })
		Eventually(op.mapCalls).Should(HaveKeyWithValue("p/a", BeNumerically(">", before)))
		Consistently(copied).ShouldNot(HaveKey("new"))
		Expect(api.Get(ctx, client.ObjectKeyFromObject(out), out)).To(Succeed())
		Expect(out.OwnerReferences).To(BeEmpty())
	})
})
