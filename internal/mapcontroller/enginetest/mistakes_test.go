// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("A mistake of the engine's user", func() {
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

	It("is an error at set-up if the cache does not fill the stores", func() {
		op.program.forgetsInformers = true
		_, err := newManager(op)
		Expect(err).To(MatchError(ContainSubstring("set cache.Options.NewInformer")))
	})

	DescribeTable("ends the manager if a parent with a namespace is given a kind without",
		func(change func(*program), want string) {
			change(op.program)
			m, err := newManager(op)
			Expect(err).NotTo(HaveOccurred())
			Expect(m.Start(ctx)).To(MatchError(ContainSubstring(want)))
		},
		Entry("as input", func(p *program) {
			p.Inputs = []inputKind{{Object: &corev1.Namespace{}, Resource: "namespaces"}}
		}, "input Namespace: namespaced is false"),
		Entry("as output", func(p *program) {
			p.Outputs = append(p.Outputs, outputKind{Object: &corev1.PersistentVolume{}, Resource: "persistentvolumes"})
		}, "output PersistentVolume: namespaced is false"),
	)

	It("neither maps an input whose key is empty, nor reads anything for it", func() {
		op.program.MapKey = func(o client.Object) string { return o.GetLabels()["key"] }
		op.start()
		newConfigMap(ctx, ns, "first", "key=k1")
		b := newBucket(ctx, ns, "b")
		Eventually(present).Should(ConsistOf("b-first"))
		op.waitUntilIdle()
		op.resetRequests()
		newConfigMap(ctx, ns, "without")
		newConfigMap(ctx, ns, "second", "key=k2")
		Eventually(present).Should(ConsistOf("b-first", "b-second"))
		patch(ctx, b, func(b *Bucket) { b.Spec.Selector.MatchLabels = map[string]string{"key": "k2"} })
		Eventually(statusOf).WithArguments(ctx, b).Should(HaveField("ObservedGeneration", BeEquivalentTo(2)))
		patch(ctx, b, func(b *Bucket) { b.Spec.Selector.MatchLabels = nil })
		Eventually(present).Should(ConsistOf("b-first", "b-second"))
		Expect(op.mapCalls()).NotTo(HaveKey("b/without"))
		Expect(slices.DeleteFunc(op.find("GET", "widgets"), func(r request) bool { return strings.Contains(r.Path, "/widgets/") })).
			To(BeEmpty(), "no search for outputs without a map key")
	})

	It("is an error of the key if this cannot be a label: nothing is created for it, and the others go on", func() {
		op.program.MapKey = func(o client.Object) string { return strings.Repeat(o.GetName(), 22) }
		op.start()
		newConfigMap(ctx, ns, "in3")
		newBucket(ctx, ns, "b")
		Eventually(op.mapCalls).Should(HaveKeyWithValue("b/in3", BeNumerically(">", 1)), "it is retried")
		newConfigMap(ctx, ns, "in")
		Eventually(present).Should(ConsistOf("b-in"))
		Expect(op.failures()).To(BeEmpty(), "no request is refused")
	})
})
