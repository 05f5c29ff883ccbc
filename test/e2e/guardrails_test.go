// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

var guardrails = filepath.Join(root, "config", "guardrails")

// liftGuardrails deletes the policies at the end, and waits until they refuse nothing: the API server reads them once a second. An
// operator runs.
func liftGuardrails(ctx context.Context) {
	GinkgoHelper()
	_, s := counted(ctx)
	DeferCleanup(func(ctx context.Context) {
		kubectl("delete", "-k", guardrails)
		Eventually(func() error { return cluster.Client.Delete(ctx, s, client.DryRunAll) }).WithContext(ctx).Should(Succeed())
	})
}

// counted is a schedule whose status counts a snapshot. The policies refuse its deletion.
func counted(ctx context.Context) (string, *v1alpha1.SnapshotSchedule) {
	GinkgoHelper()
	namespace, s := scheduled(ctx, "guarded", 1, hourly)
	Eventually(fresh(ctx, s)).WithContext(ctx).Should(HaveField("Status.Outputs.VolumeSnapshots.Total", BeEquivalentTo(1)))
	return namespace, s
}

// test/crd/guardrails tests every way to delete something. These specs show that the policies let the cluster's own controllers pass.
var _ = Describe("the guardrails", Ordered, func() {
	BeforeAll(func(ctx context.Context) {
		kubectl("apply", "-k", guardrails)
		DeferCleanup(func() { kubectl("delete", "-k", guardrails, "--ignore-not-found") })
		// Once an operator has observed that it has no snapshots, it may be deleted.
		probe := cluster.Schedule(ctx, cluster.Namespace(ctx, "probe"), hourly)
		Eventually(func() bool { return apierrors.IsForbidden(cluster.Client.Delete(ctx, probe, client.DryRunAll)) }).
			WithContext(ctx).Should(BeTrue(), "the policies should be in force")
		cluster.Start(ctx)
		liftGuardrails(ctx)
	})

	It("refuse kubectl delete, and let it pass with --cascade=orphan", func(ctx context.Context) {
		namespace, _ := counted(ctx)
		_, err := tryKubectl("delete", "snapsched", "--all", "-n", namespace)
		Expect(err).To(MatchError(ContainSubstring("deleting SnapshotSchedule nightly would delete its snapshots")))
		kubectl("delete", "snapsched", "nightly", "-n", namespace, "--cascade=orphan")
	})

	It("do not block the deletion of a namespace", func(ctx context.Context) {
		namespace, _ := counted(ctx)
		kubectl("delete", "namespace", namespace)
	})

	It("do not block the garbage collector", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "guarded")
		cluster.BoundClaims(ctx, namespace, 1)
		owner := create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "owner"}})
		s := builders.Schedule(namespace, "nightly", hourly)
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
		s.Annotations = map[string]string{v1alpha1.AnnotationAllowDeletion: "true"} // else the reference is refused
		Expect(cluster.Client.Create(ctx, s)).To(Succeed())
		merge(ctx, s, `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationAllowDeletion)
		eventuallySnapshots(ctx, namespace, 1)
		Expect(cluster.Client.Delete(ctx, owner)).To(Succeed())
		eventuallyGone(ctx, s)
	})

	It("do not keep the operator from owning the SnapshotSchedules of a ClusterSnapshotSchedule", func(ctx context.Context) {
		f := newFleet(ctx, orphaning)
		fleetNamespace(ctx, f, 0)
		By("letting it be deleted once its status says that all SnapshotSchedules have the policy Orphan")
		Eventually(func() error { return cluster.Client.Delete(ctx, f) }).WithContext(ctx).Should(Succeed())
	})
})
