// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

var _ = Describe("the namespace of a confined operator", func() {
	orphan := hourly
	orphan.DeletionPolicy = v1alpha1.DeletionOrphan

	var (
		namespace *corev1.Namespace
		operator  *harness.Operator
		schedule  *v1alpha1.SnapshotSchedule
	)
	BeforeEach(func(ctx context.Context) {
		namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cluster.Namespace(ctx, "home")}}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: harness.ServiceAccount}}
		Expect(cluster.Client.Create(ctx, account)).To(Succeed())
		bindManager(ctx, namespace.Name)
		cluster.BoundClaims(ctx, namespace.Name, 1)
		operator = cluster.WithOperatorIn(namespace.Name).Start(ctx, "--watch-namespaces="+namespace.Name)
		schedule = cluster.Schedule(ctx, namespace.Name, orphan)
		eventuallySnapshots(ctx, namespace.Name, 1)
	})
	eventuallyDeleted := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(func() bool {
			return apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace))
		}).WithContext(ctx).WithTimeout(time.Minute).Should(BeTrue(), "the namespace should be deleted")
	}
	// followIn runs commands of the page.
	followIn := func(step string) {
		GinkgoHelper()
		Expect(step).To(ContainSubstring(" shop"))
		follow(GinkgoT().TempDir(), strings.ReplaceAll(step, " shop", " "+namespace.Name))
	}

	It("is deleted after its schedules, as docs/operations.md says", func(ctx context.Context) {
		followIn(blocks("Deleting the namespace of an operator")[0])
		eventuallyDeleted(ctx)
	})

	It("is deleted at once, although the operator is deleted first", func(ctx context.Context) {
		operator.Stop()
		Expect(cluster.Client.Delete(ctx, namespace)).To(Succeed())
		eventuallyDeleted(ctx)
	})

	It("waits for a finalizer that nobody removes any more, until the command of docs/operations.md removes it", func(ctx context.Context) {
		// As Kubernetes does: the pods of a namespace are deleted before anything else.
		operator.Stop()
		s := harness.Get(ctx, cluster, schedule)
		s.Finalizers = []string{v1alpha1.FinalizerRelease}
		Expect(cluster.Client.Update(ctx, s)).To(Succeed())
		Expect(cluster.Client.Delete(ctx, namespace)).To(Succeed())
		Eventually(func() []corev1.NamespaceCondition { return harness.Get(ctx, cluster, namespace).Status.Conditions }).
			WithContext(ctx).WithTimeout(time.Minute).Should(ContainElement(And(
			HaveField("Type", corev1.NamespaceFinalizersRemaining), HaveField("Status", corev1.ConditionTrue),
			HaveField("Message", ContainSubstring(v1alpha1.FinalizerRelease)))))
		followIn(blocks("Deleting the namespace of an operator")[1])
		eventuallyDeleted(ctx)
	})
})
