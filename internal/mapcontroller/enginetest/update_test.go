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
		if err := user.Get(ctx, client.ObjectKey{Namespace: ns, Name: "copy-of-a"}, &c); err != nil {
			return map[string]string{"error": err.Error()}
		}
		return c.Data
	}
	BeforeEach(func(sctx SpecContext) {
		ctx = context.WithoutCancel(sctx)
		ns = newNamespace(ctx)
		op = newOperator(ns)
		// The data are shared with the cache, as a careless Map would do it.
		op.spec.Map = func(r mapRequest) mapResult {
			return want(&corev1.ConfigMap{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Name: "copy-of-" + r.Input.GetName()},
				Data:       r.Input.(*corev1.ConfigMap).Data,
			})
		}
	})
	run := func() {
		GinkgoHelper()
		op.start()
		in = newConfigMap(ctx, ns, "a", "app=x")
		change(ctx, in, func(c *corev1.ConfigMap) { c.Data = map[string]string{"one": "1", "two": "2"} })
		newBucket(ctx, ns, "p", selecting("app=x"))
		Eventually(copied).Should(Equal(map[string]string{"one": "1", "two": "2"}))
	}
	// looked returns when the key has been looked at once more.
	looked := func() {
		GinkgoHelper()
		before := op.looks()["p/a"]
		change(ctx, in, func(c *corev1.ConfigMap) { c.Annotations = map[string]string{"touched": c.ResourceVersion} })
		Eventually(op.looks).Should(HaveKeyWithValue("p/a", BeNumerically(">", before)))
	}

	It("is created with one request, and not written while it is right", func() {
		run()
		looked()
		op.quiet()
		Expect(op.written()).To(And(
			ContainElement(HaveField("Method", "POST")),
			HaveEach(HaveField("Path", Or(HaveSuffix("/configmaps"), HaveSuffix("/status"))))))
	})

	It("follows the desired one: what is no longer desired goes, what others set stays", func() {
		run()
		change(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "copy-of-a"}},
			func(c *corev1.ConfigMap) {
				c.Data["foreign"] = "stays"
				c.Annotations["foreign"] = "stays"
			})
		change(ctx, in, func(c *corev1.ConfigMap) { c.Data = map[string]string{"two": "II"} })
		Eventually(copied).Should(Equal(map[string]string{"two": "II", "foreign": "stays"}))
		op.quiet()
		op.forget()
		looked()
		Consistently(op.written).Should(BeEmpty())

		var c corev1.ConfigMap
		Expect(user.Get(ctx, client.ObjectKey{Namespace: ns, Name: "copy-of-a"}, &c)).To(Succeed())
		Expect(c.Annotations).To(HaveKeyWithValue("foreign", "stays"))
		Expect(c.Labels).To(And(HaveKeyWithValue(keyLabel, string(in.UID)), HaveKeyWithValue(parentLabel, "p")))
		Expect(metav1.GetControllerOf(&c)).To(HaveField("Name", "p"))
	})

	It("is put right when someone changes what is desired", func() {
		run()
		change(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "copy-of-a"}},
			func(c *corev1.ConfigMap) { c.Data["one"] = "wrong" })
		Eventually(copied).Should(HaveKeyWithValue("one", "1"))
	})

	It("may be made of the observed one", func() {
		op.spec.Map = func(r mapRequest) mapResult {
			out := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "copy-of-" + r.Input.GetName()}}
			if len(r.Outputs) > 0 {
				out = r.Outputs[0].DeepCopyObject().(*corev1.ConfigMap)
			}
			out.Data = r.Input.(*corev1.ConfigMap).Data
			return want(out)
		}
		run()
		change(ctx, in, func(c *corev1.ConfigMap) { c.Data = map[string]string{"two": "II"} })
		Eventually(copied).Should(Equal(map[string]string{"two": "II"}))
		op.quiet()
		op.forget()
		looked()
		Consistently(op.written).Should(BeEmpty())
	})

	It("is not taken back when it was released meanwhile", func() {
		copying := op.spec.Map
		op.spec.Map = func(r mapRequest) mapResult {
			d := copying(r)
			if r.Parent.Spec.Color != "" {
				d.Outputs[0].(*corev1.ConfigMap).Data = map[string]string{"new": "data"}
			}
			return d
		}
		run()
		op.freeze("configmaps")
		out := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "copy-of-a"}}
		change(ctx, out, func(c *corev1.ConfigMap) { c.OwnerReferences, c.Labels = nil, nil })
		// The parent wakes the key, whose cache is late.
		bucket := &Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}}
		before := op.looks()["p/a"]
		change(ctx, bucket, func(b *Bucket) { b.Spec.Color = "red" })
		Eventually(op.looks).Should(HaveKeyWithValue("p/a", BeNumerically(">", before)))
		Consistently(copied).ShouldNot(HaveKey("new"))
		Expect(user.Get(ctx, client.ObjectKeyFromObject(out), out)).To(Succeed())
		Expect(out.OwnerReferences).To(BeEmpty())
	})
})
