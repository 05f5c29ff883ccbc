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

var _ = Describe("Outputs that outlive their parent", func() {
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
		op.spec.Finalizer = finalizer
		op.spec.Orphan = func(b *Bucket) bool { return b.Spec.Color == "orphan" }
	})
	finalizers := func(b *Bucket) func() []string {
		return func() []string {
			var now Bucket
			if err := user.Get(ctx, client.ObjectKeyFromObject(b), &now); err != nil {
				return []string{string(apierrors.ReasonForError(err))}
			}
			return now.Finalizers
		}
	}
	owned := func() (n int) {
		var l WidgetList
		if err := user.List(ctx, &l, client.InNamespace(ns)); err != nil {
			return -1
		}
		for _, w := range l.Items {
			n += len(w.OwnerReferences)
		}
		return n
	}

	It("are released before it goes, and only then", func() {
		op.start()
		for i := range 20 {
			newConfigMap(ctx, ns, fmt.Sprintf("in-%d", i))
		}
		b := newBucket(ctx, ns, "p", func(b *Bucket) { b.Spec.Color = "orphan" })
		Eventually(finalizers(b)).Should(ConsistOf(finalizer))
		Eventually(owned).Should(Equal(20))
		Expect(user.Delete(ctx, b)).To(Succeed())
		Eventually(finalizers(b)).Should(ConsistOf(string(metav1.StatusReasonNotFound)))
		Expect(owned()).To(BeZero())
		Expect(widgets(ctx, ns)).To(HaveLen(20))
		op.quiet()
		Expect(owned()).To(BeZero())

		By("being taken back by one of its name")
		newBucket(ctx, ns, "p")
		Eventually(owned).Should(Equal(20))
		Expect(op.sent("POST", "/widgets")).To(HaveLen(20))
	})

	It("are no longer held once they need not be", func() {
		op.start()
		b := newBucket(ctx, ns, "p", func(b *Bucket) { b.Spec.Color = "orphan" })
		Eventually(finalizers(b)).Should(ConsistOf(finalizer))
		change(ctx, b, func(b *Bucket) { b.Spec.Color = "" })
		Eventually(finalizers(b)).Should(BeEmpty())
	})
})

// The cache of a user may hold only what is tagged: to it, an output whose key
// was taken off was deleted.
var _ = Describe("A cache of tagged outputs", func() {
	var (
		ctx context.Context
		ns  string
	)
	tagged := func(o *operator) {
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
	takeKeyOff := func() {
		GinkgoHelper()
		change(ctx, getWidget(ctx, ns, "p-a"), func(w *Widget) { delete(w.Labels, keyLabel) })
	}
	start := func() *operator {
		GinkgoHelper()
		op := newOperator(ns)
		tagged(op)
		op.start()
		Eventually(func() []string { return widgets(ctx, ns) }).Should(ConsistOf("p-a"))
		return op
	}

	It("shows when a key is taken off", func() {
		op := start()
		op.quiet()
		takeKeyOff()
		Eventually(owners).Should(BeEmpty())
		Expect(op.sent("DELETE", "")).To(BeEmpty())
	})

	It("is not all there is to look at after a start", func() {
		op := start()
		op.quiet()
		op.stop()
		takeKeyOff()
		Expect(owners()).To(HaveLen(1))
		again := start()
		Eventually(owners).Should(BeEmpty())
		Expect(again.sent("DELETE", "")).To(BeEmpty())
	})

	It("shows a key that is emptied", func() {
		op := start()
		op.quiet()
		change(ctx, getWidget(ctx, ns, "p-a"), func(w *Widget) { w.Labels[keyLabel] = "" })
		Eventually(owners).Should(BeEmpty())
		Expect(op.sent("DELETE", "")).To(BeEmpty())
	})
})
