// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Ownership", func() {
	var (
		ctx context.Context
		ns  string
		op  *operator
		in  *corev1.ConfigMap
	)
	BeforeEach(func(sctx SpecContext) {
		ctx = context.WithoutCancel(sctx)
		ns = newNamespace(ctx)
		op = newOperator(ns)
		in = newConfigMap(ctx, ns, "a")
	})
	present := func() []string { return widgets(ctx, ns) }
	labeled := func(name, bucket string, refs ...metav1.OwnerReference) *Widget {
		return &Widget{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: name, OwnerReferences: refs,
			Labels: map[string]string{keyLabel: string(in.UID), parentLabel: bucket},
		}}
	}
	ref := func(b *Bucket) metav1.OwnerReference {
		return *metav1.NewControllerRef(b, groupVersion.WithKind("Bucket"))
	}
	controllerOf := func(name string) func() types.UID {
		return func() types.UID {
			var w Widget
			if err := api.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &w); err != nil {
				return types.UID(err.Error())
			}
			if ref := metav1.GetControllerOf(&w); ref != nil {
				return ref.UID
			}
			return ""
		}
	}

	It("adopts an orphan with the parent's label, created before or after the parent", func() {
		op.program.Map = func(r observation) decision { return decision{Outputs: r.Outputs} }
		op.start()
		Expect(api.Create(ctx, labeled("early", "p"))).To(Succeed())
		b := newBucket(ctx, ns, "p")
		Eventually(controllerOf("early")).Should(Equal(b.UID))
		Expect(api.Create(ctx, labeled("late", "p"))).To(Succeed())
		Eventually(controllerOf("late")).Should(Equal(b.UID))
		Eventually(statusOf).WithArguments(ctx, b).Should(
			HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 2))))
	})

	It("neither changes nor counts what something else controls", func() {
		op.start()
		other := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "x-uid", Controller: new(true)}
		namesake := metav1.OwnerReference{
			APIVersion: groupVersion.String(), Kind: "Bucket", Name: "p", UID: "earlier", Controller: new(true),
		}
		Expect(api.Create(ctx, labeled("foreign", "p", other))).To(Succeed())
		Expect(api.Create(ctx, labeled("namesakes", "p", namesake))).To(Succeed())
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(And(
			HaveField("ObservedGeneration", BeEquivalentTo(1)),
			HaveField("Outputs", HaveKeyWithValue("widgets", Equal(map[string]int{"total": 1})))))
		Expect(api.Delete(ctx, in)).To(Succeed())
		Eventually(present).Should(ConsistOf("foreign", "namesakes"))
		Consistently(present).Should(ConsistOf("foreign", "namesakes"))
		Expect(op.writes()).To(HaveEach(HaveField("Path", Not(Or(
			HaveSuffix("/foreign"), HaveSuffix("/namesakes"))))))
	})

	It("refuses to adopt if a live read shows that the parent is being deleted", func() {
		op.start()
		b := newBucket(ctx, ns, "p", func(b *Bucket) { b.Finalizers = []string{holdFinalizer} })
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("ObservedGeneration", BeEquivalentTo(1)))
		op.freeze("buckets")
		Expect(api.Delete(ctx, b)).To(Succeed())
		Expect(api.Create(ctx, labeled("orphan", "p"))).To(Succeed())
		Eventually(func() bool { return op.hasFailed("adopt", errAdoptionRefused) }).Should(BeTrue())
		Expect(controllerOf("orphan")()).To(BeEmpty())
		op.thaw()
		patch(ctx, b, func(b *Bucket) { b.Finalizers = nil })
		Consistently(controllerOf("orphan")).Should(BeEmpty())
	})

	It("refuses to adopt if a live read shows another parent of the same name", func() {
		op.program.Map = func(r observation) decision { return decision{Outputs: r.Outputs} }
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("ObservedGeneration", BeEquivalentTo(1)))
		op.freeze("buckets")
		Expect(api.Delete(ctx, b)).To(Succeed())
		second := newBucket(ctx, ns, "p")
		Expect(api.Create(ctx, labeled("orphan", "p"))).To(Succeed())
		Eventually(func() bool { return op.hasFailed("adopt", errAdoptionRefused) }).Should(BeTrue())
		Expect(controllerOf("orphan")()).To(BeEmpty())
		op.thaw()
		Eventually(controllerOf("orphan")).Should(Equal(second.UID))
	})

	DescribeTable("releases an output when a user",
		func(change func(*Widget)) {
			op.start()
			b := newBucket(ctx, ns, "p")
			Eventually(controllerOf("p-a")).Should(Equal(b.UID))
			keep := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "x-uid"}
			out := labeled("p-a", "p")
			patch(ctx, out, func(w *Widget) { w.OwnerReferences = append(w.OwnerReferences, keep) })
			patch(ctx, out, change)
			Eventually(controllerOf("p-a")).Should(BeEmpty())
			Expect(getWidget(ctx, ns, "p-a").OwnerReferences).To(Equal([]metav1.OwnerReference{keep}))
			Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 0))))
			Expect(op.find("DELETE", "")).To(BeEmpty())
		},
		Entry("sets another parent label", func(w *Widget) { w.Labels[parentLabel] = "other" }),
		Entry("removes the parent label", func(w *Widget) { delete(w.Labels, parentLabel) }),
		Entry("removes the map key", func(w *Widget) { delete(w.Labels, keyLabel) }),
		Entry("sets an empty map key", func(w *Widget) { w.Labels[keyLabel] = "" }),
	)

	It("treats AlreadyExists as success if the existing object is the desired output", func() {
		var b *Bucket
		var once atomic.Bool
		op.program.Map = func(r observation) decision {
			if once.CompareAndSwap(false, true) {
				defer GinkgoRecover()
				out := labeled("p-a", "p", ref(r.Parent))
				Expect(api.Create(ctx, out)).To(Succeed())
			}
			return desire(widgetFor(r))
		}
		op.start()
		b = newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(
			HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 1))))
		Expect(op.find("POST", "/widgets")).To(HaveExactElements(HaveField("Status", 409)))
		Expect(op.failures()).To(BeEmpty())
	})

	It("reports a name collision, retries, and delays no other key", func() {
		foreign := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p-a"}}
		Expect(api.Create(ctx, foreign)).To(Succeed())
		newConfigMap(ctx, ns, "b")
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(func() bool { return op.hasFailed("create", errNameCollision) }).Should(BeTrue())
		Eventually(present).Should(ConsistOf("p-a", "p-b"))
		Expect(controllerOf("p-a")()).To(BeEmpty())
		Expect(api.Delete(ctx, foreign)).To(Succeed())
		Eventually(controllerOf("p-a")).Should(Equal(b.UID))
	})

	It("creates nothing if the existing object covers the desired output", func() {
		op.program.Outputs[0].Covers = func(_, existing client.Object) bool { return existing.GetLabels()["covers"] == "yes" }
		Expect(api.Create(ctx, &Widget{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: "p-a", Labels: map[string]string{"covers": "yes"},
		}})).To(Succeed())
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("ObservedGeneration", BeEquivalentTo(1)))
		Expect(op.failures()).To(BeEmpty())
		Expect(controllerOf("p-a")()).To(BeEmpty())
	})

	It("creates an output again once the terminating one is gone", func() {
		op.start()
		newBucket(ctx, ns, "p")
		Eventually(present).Should(ConsistOf("p-a"))
		out := labeled("p-a", "p")
		patch(ctx, out, func(w *Widget) { w.Finalizers = []string{holdFinalizer} })
		Expect(api.Delete(ctx, out)).To(Succeed())
		before := op.mapCalls()["p/a"]
		patch(ctx, in, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": "b"} })
		Eventually(op.mapCalls).Should(HaveKeyWithValue("p/a", BeNumerically(">", before)))
		Expect(op.find("POST", "/widgets")).To(HaveLen(1))
		uid := out.UID
		patch(ctx, out, func(w *Widget) { w.Finalizers = nil })
		Eventually(func() types.UID {
			var w Widget
			_ = api.Get(ctx, client.ObjectKeyFromObject(out), &w)
			return w.UID
		}).ShouldNot(Or(BeEmpty(), Equal(uid)))
		Expect(op.failures()).To(BeEmpty())
	})
})
