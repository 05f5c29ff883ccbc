// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

var _ = Describe("a PVC whose snapshots are denied", func() {
	It("is reported, delays no other PVC, and recovers by itself", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "denied")
		policy := denySnapshotsOf(ctx, namespace, "data-1")
		cluster.Start(ctx)
		cluster.BoundClaims(ctx, namespace, 4)
		history := cluster.Record(ctx, namespace)
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "3s", SnapshotTTL: "9s"})

		Eventually(func(g Gomega) {
			first := history.Of("data-0")
			for _, claim := range []string{"data-0", "data-2", "data-3"} {
				snapshots := history.Of(claim)
				g.Expect(min(len(first), len(snapshots))).To(BeNumerically(">=", 5), "snapshots of %s", claim)
				g.Expect(snapshots[0].Deleted).To(BeTrue(), "the first snapshot of %s should expire", claim)
				for i := range 5 {
					g.Expect(snapshots[i].Slot()).To(Equal(first[i].Slot()), "snapshots of %s", claim)
				}
			}
		}).WithContext(ctx).Should(Succeed(), "the other PVCs should have a snapshot of each slot")
		Expect(history.Of("data-1")).To(BeEmpty())

		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing),
			haveProblem("data-1", v1alpha1.ReasonCreateFailed)))
		s := harness.Get(ctx, cluster, schedule)
		Expect(s.Status.Problems).To(HaveLen(1))
		Expect(s.Status.Problems[0].Message).To(ContainSubstring("data-1 is not to be snapshotted"))
		Expect(s.Status.Conditions).To(ContainElement(And(
			HaveField("Type", v1alpha1.ConditionReady), HaveField("Message", ContainSubstring("data-1")))))
		Eventually(events(ctx, namespace)).WithContext(ctx).Should(ContainElement(And(
			HaveField("Type", corev1.EventTypeWarning),
			HaveField("Reason", v1alpha1.ReasonCreateFailed),
			HaveField("Regarding.Name", schedule.Name),
			HaveField("Note", ContainSubstring("data-1")))))

		Expect(cluster.Client.Delete(ctx, policy)).To(Succeed())
		Eventually(func() []harness.Snapshot { return history.Of("data-1") }).WithContext(ctx).WithTimeout(time.Minute).ShouldNot(BeEmpty())
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.Problems", BeEmpty())))
		Expect(history.Duplicates()).To(BeEmpty())
	})
})

var _ = Describe("a full quota", func() {
	// Contract: ONE-7.
	It("stops no deletion, and snapshots resume by themselves when there is room", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "quota")
		cluster.Start(ctx)
		cluster.BoundClaims(ctx, namespace, 2)
		const snapshots corev1.ResourceName = "count/volumesnapshots.snapshot.storage.k8s.io"
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "snapshots"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{snapshots: resource.MustParse("6")}},
		}
		Expect(cluster.Client.Create(ctx, quota)).To(Succeed())
		waitForQuota(ctx, quota, snapshots)
		history := cluster.Record(ctx, namespace)
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "2s", SnapshotTTL: "12s"})

		// The API server may refuse the first creates too, as long as it does not know the quota's use.
		var full int
		Eventually(func(g Gomega) {
			full = len(history.All())
			g.Expect(full).To(BeNumerically(">=", 6))
			g.Expect(fresh(ctx, schedule)()).To(And(
				beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing),
				haveProblem("data-0", v1alpha1.ReasonCreateFailed)), "the full quota should be reported")
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
		Eventually(func(g Gomega) {
			all := history.All()
			g.Expect(all[5].Deleted).To(BeTrue(), "snapshots should expire while the quota is full")
			g.Expect(len(all)).To(BeNumerically(">=", full+4), "snapshots should be taken in place of expired ones")
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())

		room := client.MergeFrom(quota.DeepCopy())
		quota.Spec.Hard[snapshots] = resource.MustParse("100")
		Expect(cluster.Client.Patch(ctx, quota, room)).To(Succeed())
		Eventually(fresh(ctx, schedule)).WithContext(ctx).WithTimeout(time.Minute).Should(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.Problems", BeEmpty())))
		Expect(history.Duplicates()).To(BeEmpty())
	})
})

// denySnapshotsOf makes the API server reject the snapshots of one PVC.
func denySnapshotsOf(ctx context.Context, namespace, claim string) *admissionv1.ValidatingAdmissionPolicy {
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule: admissionv1.Rule{
						APIGroups: []string{"snapshot.storage.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"volumesnapshots"},
					},
				},
			}}},
			Validations: []admissionv1.Validation{{
				Expression: fmt.Sprintf("object.spec.source.persistentVolumeClaimName != %q", claim),
				Message:    claim + " is not to be snapshotted",
			}},
		},
	}
	Expect(cluster.Client.Create(ctx, policy)).To(Succeed())
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        policy.Name,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: namespace},
			}},
		},
	}
	Expect(cluster.Client.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(cluster.Client.Delete(ctx, binding))).To(Succeed())
		Expect(client.IgnoreNotFound(cluster.Client.Delete(ctx, policy))).To(Succeed())
	})
	// A policy is in force some time after its creation.
	Eventually(func() error { return dryRunSnapshot(ctx, namespace, claim) }).WithContext(ctx).
		Should(MatchError(ContainSubstring("is not to be snapshotted")), "the policy should be in force")
	return policy
}

func events(ctx context.Context, namespace string) func() []eventsv1.Event {
	return func() []eventsv1.Event {
		all := &eventsv1.EventList{}
		Expect(cluster.Client.List(ctx, all, client.InNamespace(namespace))).To(Succeed())
		return all.Items
	}
}
