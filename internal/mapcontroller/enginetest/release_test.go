// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Outputs of a parent that owns by labels", func() {
	const finalizer = "enginetest.mapcontroller.dev/release"
	var (
		ctx context.Context
		ns  string
		op  *operator
	)
	byLabels := func(b *Bucket) { b.Spec.Color = "orphan" }
	BeforeEach(func(sctx SpecContext) {
		ctx = context.WithoutCancel(sctx)
		ns = newNamespace(ctx)
		op = newOperator(ns)
		op.program.Finalizer = finalizer
		op.program.ByLabels = func(b *Bucket) bool { return b.Spec.Color == "orphan" }
		for i := range 20 {
			newConfigMap(ctx, ns, fmt.Sprintf("in-%d", i))
		}
	})
	finalizersOf := func(b *Bucket) func() []string {
		return func() []string {
			var now Bucket
			if err := api.Get(ctx, client.ObjectKeyFromObject(b), &now); err != nil {
				return []string{string(apierrors.ReasonForError(err))}
			}
			return now.Finalizers
		}
	}
	owned := func() (n int) {
		var l WidgetList
		if err := api.List(ctx, &l, client.InNamespace(ns)); err != nil {
			return -1
		}
		for _, w := range l.Items {
			n += len(w.OwnerReferences)
		}
		return n
	}
	observes := func(b *Bucket, generation int) {
		GinkgoHelper()
		Eventually(statusOf).WithArguments(ctx, b).WithTimeout(20 * time.Second).Should(HaveField("ObservedGeneration", BeEquivalentTo(generation)))
	}
	counts := func(b *Bucket, n int) {
		GinkgoHelper()
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", n))))
	}

	It("have no owner, are mapped and deleted like others, and go on under the next parent of the name", func() {
		op.start()
		b := newBucket(ctx, ns, "p", byLabels)
		counts(b, 20)
		Expect(finalizersOf(b)()).To(BeEmpty())
		Expect(owned()).To(BeZero())
		Expect(api.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "in-0"}})).To(Succeed())
		Eventually(func() []string { return widgets(ctx, ns) }).Should(And(HaveLen(19), Not(ContainElement("p-in-0"))))
		counts(b, 19)

		Expect(api.Delete(ctx, b)).To(Succeed())
		Expect(finalizersOf(b)()).To(ConsistOf(string(metav1.StatusReasonNotFound)))
		counts(newBucket(ctx, ns, "p", byLabels), 19)
		Expect(op.find("POST", "/widgets")).To(HaveLen(20))
		Expect(op.find("PATCH", "/widgets/")).To(BeEmpty())
	})

	It("lose their owner before the parent observes the generation, and get it back", func() {
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(owned).Should(Equal(20))
		patch(ctx, b, byLabels)
		observes(b, 2)
		Expect(owned()).To(BeZero())
		Expect(finalizersOf(b)()).To(BeEmpty())
		counts(b, 20)

		patch(ctx, b, func(b *Bucket) { b.Spec.Color = "" })
		Eventually(owned).Should(Equal(20))
		observes(b, 3)
		Expect(op.find("POST", "/widgets")).To(HaveLen(20))
	})

	It("lose their owner also where a cache does not show them yet", func() {
		op.start()
		b := newBucket(ctx, ns, "p")
		counts(b, 20)
		op.freeze("widgets")
		newConfigMap(ctx, ns, "late")
		Eventually(owned).Should(Equal(21))
		patch(ctx, b, byLabels)
		Eventually(owned).WithTimeout(20 * time.Second).Should(BeNumerically("<=", 1))
		Consistently(func(g Gomega) {
			if statusOf(ctx, b).ObservedGeneration == 2 {
				g.Expect(owned()).To(BeZero())
			}
		}).Should(Succeed())
		op.thaw()
		observes(b, 2)
		Expect(owned()).To(BeZero())
	})

	It("lose their owner before a parent that holds the finalizer is deleted", func() {
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(owned).Should(Equal(20))
		op.stop()
		patch(ctx, b, func(b *Bucket) {
			byLabels(b)
			b.Finalizers = []string{finalizer}
		})
		Expect(api.Delete(ctx, b)).To(Succeed())
		op.start()
		Eventually(finalizersOf(b)).Should(ConsistOf(string(metav1.StatusReasonNotFound)))
		Expect(owned()).To(BeZero())
		Expect(widgets(ctx, ns)).To(HaveLen(20))
	})

	It("keep their owner if the policy changes back while the finalizer is there", func() {
		b := newBucket(ctx, ns, "p", func(b *Bucket) { b.Finalizers = []string{finalizer} })
		op.start()
		Eventually(owned).Should(Equal(20))
		Eventually(finalizersOf(b)).Should(BeEmpty())
	})
})

// A cache may be restricted to objects with the map-key label. To its watch, an output without the label is deleted.
var _ = Describe("With a cache restricted to labeled outputs", func() {
	var (
		ctx context.Context
		ns  string
	)
	restrictCache := func(o *operator) {
		requirement, err := labels.NewRequirement(keyLabel, selection.Exists, nil)
		Expect(err).NotTo(HaveOccurred())
		o.cached = map[client.Object]cache.ByObject{&Widget{}: {Label: labels.NewSelector().Add(*requirement)}}
	}
	owners := func() []metav1.OwnerReference { return getWidget(ctx, ns, "p-a").OwnerReferences }
	BeforeEach(func(sctx SpecContext) {
		ctx = context.WithoutCancel(sctx)
		ns = newNamespace(ctx)
		newConfigMap(ctx, ns, "a")
		newBucket(ctx, ns, "p")
	})
	removeKey := func() {
		GinkgoHelper()
		patch(ctx, getWidget(ctx, ns, "p-a"), func(w *Widget) { delete(w.Labels, keyLabel) })
	}
	start := func() *operator {
		GinkgoHelper()
		op := newOperator(ns)
		restrictCache(op)
		op.start()
		Eventually(func() []string { return widgets(ctx, ns) }).Should(ConsistOf("p-a"))
		return op
	}

	It("an output is released when its map key is removed", func() {
		op := start()
		op.waitUntilIdle()
		removeKey()
		Eventually(owners).Should(BeEmpty())
		Expect(op.find("DELETE", "")).To(BeEmpty())
	})

	It("an output is released if its map key was removed while the operator was not running", func() {
		op := start()
		op.waitUntilIdle()
		op.stop()
		removeKey()
		Expect(owners()).To(HaveLen(1))
		again := start()
		Eventually(owners).Should(BeEmpty())
		Expect(again.find("DELETE", "")).To(BeEmpty())
	})

	It("an output is released when its map key is set to an empty string", func() {
		op := start()
		op.waitUntilIdle()
		patch(ctx, getWidget(ctx, ns, "p-a"), func(w *Widget) { w.Labels[keyLabel] = "" })
		Eventually(owners).Should(BeEmpty())
		Expect(op.find("DELETE", "")).To(BeEmpty())
	})
})
