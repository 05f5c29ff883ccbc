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

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

const wait = "enginetest.mapcontroller.dev/wait"

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
	tagged := func(name, bucket string, refs ...metav1.OwnerReference) *Widget {
		return &Widget{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: name, OwnerReferences: refs,
			Labels: map[string]string{keyLabel: string(in.UID), parentLabel: bucket},
		}}
	}
	ref := func(b *Bucket) metav1.OwnerReference {
		return *metav1.NewControllerRef(b, groupVersion.WithKind("Bucket"))
	}
	controller := func(name string) func() types.UID {
		return func() types.UID {
			var w Widget
			if err := user.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &w); err != nil {
				return types.UID(err.Error())
			}
			if ref := metav1.GetControllerOf(&w); ref != nil {
				return ref.UID
			}
			return ""
		}
	}

	It("adopts an orphan that names the parent, before and after the parent comes", func() {
		op.spec.Map = func(r mapRequest) mapResult { return mapResult{Outputs: r.Outputs} }
		op.start()
		Expect(user.Create(ctx, tagged("early", "p"))).To(Succeed())
		b := newBucket(ctx, ns, "p")
		Eventually(controller("early")).Should(Equal(b.UID))
		Expect(user.Create(ctx, tagged("late", "p"))).To(Succeed())
		Eventually(controller("late")).Should(Equal(b.UID))
		Eventually(statusOf).WithArguments(ctx, b).Should(
			HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 2))))
	})

	It("never touches nor counts what another controls", func() {
		op.start()
		other := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "x-uid", Controller: new(true)}
		namesake := metav1.OwnerReference{
			APIVersion: groupVersion.String(), Kind: "Bucket", Name: "p", UID: "before-us", Controller: new(true),
		}
		Expect(user.Create(ctx, tagged("foreign", "p", other))).To(Succeed())
		Expect(user.Create(ctx, tagged("namesakes", "p", namesake))).To(Succeed())
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(And(
			HaveField("ObservedGeneration", BeEquivalentTo(1)),
			HaveField("Outputs", HaveKeyWithValue("widgets", Equal(map[string]int{"total": 1})))))
		Expect(user.Delete(ctx, in)).To(Succeed())
		Eventually(present).Should(ConsistOf("foreign", "namesakes"))
		Consistently(present).Should(ConsistOf("foreign", "namesakes"))
		Expect(op.written()).To(HaveEach(HaveField("Path", Not(Or(
			HaveSuffix("/foreign"), HaveSuffix("/namesakes"))))))
	})

	It("refuses to adopt for a parent that is being deleted, though the cache is late", func() {
		op.start()
		b := newBucket(ctx, ns, "p", func(b *Bucket) { b.Finalizers = []string{wait} })
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("ObservedGeneration", BeEquivalentTo(1)))
		op.freeze("buckets")
		Expect(user.Delete(ctx, b)).To(Succeed())
		Expect(user.Create(ctx, tagged("orphan", "p"))).To(Succeed())
		Eventually(func() bool { return op.failed("adopt", mapcontroller.ErrAdoptionRefused) }).Should(BeTrue())
		Expect(controller("orphan")()).To(BeEmpty())
		op.thaw()
		change(ctx, b, func(b *Bucket) { b.Finalizers = nil })
		Consistently(controller("orphan")).Should(BeEmpty())
	})

	It("refuses to adopt for a parent that was made anew, though the cache is late", func() {
		op.spec.Map = func(r mapRequest) mapResult { return mapResult{Outputs: r.Outputs} }
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("ObservedGeneration", BeEquivalentTo(1)))
		op.freeze("buckets")
		Expect(user.Delete(ctx, b)).To(Succeed())
		anew := newBucket(ctx, ns, "p")
		Expect(user.Create(ctx, tagged("orphan", "p"))).To(Succeed())
		Eventually(func() bool { return op.failed("adopt", mapcontroller.ErrAdoptionRefused) }).Should(BeTrue())
		Expect(controller("orphan")()).To(BeEmpty())
		op.thaw()
		Eventually(controller("orphan")).Should(Equal(anew.UID))
	})

	DescribeTable("releases an output when a user",
		func(change_ func(*Widget)) {
			op.start()
			b := newBucket(ctx, ns, "p")
			Eventually(controller("p-a")).Should(Equal(b.UID))
			keep := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "x-uid"}
			out := tagged("p-a", "p")
			change(ctx, out, func(w *Widget) { w.OwnerReferences = append(w.OwnerReferences, keep) })
			change(ctx, out, change_)
			Eventually(controller("p-a")).Should(BeEmpty())
			Expect(getWidget(ctx, ns, "p-a").OwnerReferences).To(Equal([]metav1.OwnerReference{keep}))
			Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("Outputs", Not(HaveKey("widgets"))))
			Expect(op.sent("DELETE", "")).To(BeEmpty())
		},
		Entry("names another parent", func(w *Widget) { w.Labels[parentLabel] = "other" }),
		Entry("takes the parent's name off", func(w *Widget) { delete(w.Labels, parentLabel) }),
		Entry("takes the map key off", func(w *Widget) { delete(w.Labels, keyLabel) }),
		Entry("empties the map key", func(w *Widget) { w.Labels[keyLabel] = "" }),
	)

	It("takes it for success when someone made the very output first", func() {
		var b *Bucket
		var once atomic.Bool
		op.spec.Map = func(r mapRequest) mapResult {
			if once.CompareAndSwap(false, true) {
				defer GinkgoRecover()
				out := tagged("p-a", "p", ref(r.Parent))
				Expect(user.Create(ctx, out)).To(Succeed())
			}
			return want(widget(r))
		}
		op.start()
		b = newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(
			HaveField("Outputs", HaveKeyWithValue("widgets", HaveKeyWithValue("total", 1))))
		Expect(op.sent("POST", "/widgets")).To(HaveExactElements(HaveField("Status", 409)))
		Expect(op.failedAtAll()).To(BeEmpty())
	})

	It("tells of a name that is taken, tries again, and keeps no other key waiting", func() {
		foreign := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p-a"}}
		Expect(user.Create(ctx, foreign)).To(Succeed())
		newConfigMap(ctx, ns, "b")
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(func() bool { return op.failed("create", mapcontroller.ErrNameCollision) }).Should(BeTrue())
		Eventually(present).Should(ConsistOf("p-a", "p-b"))
		Expect(controller("p-a")()).To(BeEmpty())
		Expect(user.Delete(ctx, foreign)).To(Succeed())
		Eventually(controller("p-a")).Should(Equal(b.UID))
	})

	It("leaves it at that where the name is taken by what does the work already", func() {
		op.spec.Outputs[0].Served = func(_, existing client.Object) bool { return existing.GetLabels()["serves"] == "yes" }
		Expect(user.Create(ctx, &Widget{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: "p-a", Labels: map[string]string{"serves": "yes"},
		}})).To(Succeed())
		op.start()
		b := newBucket(ctx, ns, "p")
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("ObservedGeneration", BeEquivalentTo(1)))
		Expect(op.failedAtAll()).To(BeEmpty())
		Expect(controller("p-a")()).To(BeEmpty())
	})

	It("makes an output again once the one that is being deleted is gone", func() {
		op.start()
		newBucket(ctx, ns, "p")
		Eventually(present).Should(ConsistOf("p-a"))
		out := tagged("p-a", "p")
		change(ctx, out, func(w *Widget) { w.Finalizers = []string{wait} })
		Expect(user.Delete(ctx, out)).To(Succeed())
		before := op.looks()["p/a"]
		change(ctx, in, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": "b"} })
		Eventually(op.looks).Should(HaveKeyWithValue("p/a", BeNumerically(">", before)))
		Expect(op.sent("POST", "/widgets")).To(HaveLen(1))
		uid := out.UID
		change(ctx, out, func(w *Widget) { w.Finalizers = nil })
		Eventually(func() types.UID {
			var w Widget
			_ = user.Get(ctx, client.ObjectKeyFromObject(out), &w)
			return w.UID
		}).ShouldNot(Or(BeEmpty(), Equal(uid)))
		Expect(op.failedAtAll()).To(BeEmpty())
	})
})
