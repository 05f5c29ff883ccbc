// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Outputs of a parent with policy Orphan", func() {
	const finalizer = "enginetest.mapcontroller.dev/release"
	var (
		ctx context.Context
		ns  string
		op  *operator
	)
	BeforeEach(func(sctx SpecContext) {
		ctx = context.WithoutCancel(sctx)
		ns = newNamespace(ctx)
		op = newOperator(ns)
		op.program.Finalizer = finalizer
		op.program.Orphan = func(b *Bucket) bool { return b.Spec.Color == "orphan" }
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

	It("are released before the parent is deleted, and only then", func() {
		op.start()
		for i := range 20 {
			newConfigMap(ctx, ns, fmt.Sprintf("in-%d", i))
		}
		b := newBucket(ctx, ns, "p", func(b *Bucket) { b.Spec.Color = "orphan" })
		Eventually(finalizersOf(b)).Should(ConsistOf(finalizer))
		Eventually(owned).Should(Equal(20))
		Expect(api.Delete(ctx, b)).To(Succeed())
		Eventually(finalizersOf(b)).Should(ConsistOf(string(metav1.StatusReasonNotFound)))
		Expect(owned()).To(BeZero())
		Expect(widgets(ctx, ns)).To(HaveLen(20))
		op.waitUntilIdle()
		Expect(owned()).To(BeZero())

		By("creating a parent of the same name, which adopts them")
		newBucket(ctx, ns, "p")
		Eventually(owned).Should(Equal(20))
		Expect(op.find("POST", "/widgets")).To(HaveLen(20))
	})

	It("are not released if the policy changes: the finalizer is removed", func() {
		op.start()
		b := newBucket(ctx, ns, "p", func(b *Bucket) { b.Spec.Color = "orphan" })
		Eventually(finalizersOf(b)).Should(ConsistOf(finalizer))
		patch(ctx, b, func(b *Bucket) { b.Spec.Color = "" })
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
