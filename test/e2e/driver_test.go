// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// mockDriver is the CSI driver of the local cluster.
const mockDriver = "mock.csi.k8s.io"

// haveProblem matches a schedule with a problem of the PVC data-0.
func haveProblem(reason, message string) gomegatypes.GomegaMatcher {
	return HaveField("Status.Problems", ContainElement(And(
		HaveField("PersistentVolumeClaim", "data-0"), HaveField("Reason", reason), HaveField("Message", ContainSubstring(message)))))
}

// requeueDeleted makes the snapshot controllers reconcile the snapshots of a namespace that are being deleted. One that was deleted
// while its driver was down may otherwise wait 15 minutes for the next resync.
func requeueDeleted(ctx context.Context, namespace string) {
	GinkgoHelper()
	touched := client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{"e2e/touched":%q}}}`, time.Now().Format(time.RFC3339Nano)))
	for _, v := range cluster.Snapshots(ctx, namespace) {
		if v.DeletionTimestamp != nil {
			content := &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: "snapcontent-" + string(v.UID)}}
			Expect(client.IgnoreNotFound(cluster.Client.Patch(ctx, &v, touched))).To(Succeed())
			Expect(client.IgnoreNotFound(cluster.Client.Patch(ctx, content, touched))).To(Succeed())
		}
	}
}

var _ = Describe("snapshots that never become ready", func() {
	// Contract: STAT-15, PROT-2.
	It("are reported with the error that the snapshot controller wrote, and as not protected", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "noclass")
		claim := cluster.BoundClaims(ctx, namespace, 1)[0]
		// Of a known driver, the operator would not try.
		merge(ctx, claim, `{"metadata":{"annotations":{"volume.kubernetes.io/storage-provisioner":null,`+
			`"volume.beta.kubernetes.io/storage-provisioner":null}}}`)
		cluster.Start(ctx)
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h", ReadyDeadline: "2s",
			SnapshotTemplate: v1alpha1.SnapshotTemplate{Spec: v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: ptr.To("no-such-class")}},
		})
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing),
			haveProblem(v1alpha1.ReasonSnapshotFailed, ""), haveProblem(v1alpha1.ReasonSnapshotError, "no-such-class"),
			HaveField("Status.Conditions", ContainElement(And(
				HaveField("Type", v1alpha1.ConditionProtected), HaveField("Reason", v1alpha1.ReasonRecoveryPointsOld))))))
	})

	// Contract: ONE-4.
	It("are not taken again until the driver is back, with a driver that is down", func(ctx context.Context) {
		start := cluster.Mark()
		cluster.Start(ctx)
		namespace, history := cluster.Recorded(ctx, "down", 3)
		resume := cluster.PausePart("csi-snapshotter")
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "3s", ReadyDeadline: "2s"})
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing),
			// Overdue once the failed one is being deleted.
			Or(haveProblem(v1alpha1.ReasonSnapshotFailed, ""), haveProblem(v1alpha1.ReasonSnapshotOverdue, ""))))
		// The failed ones are being deleted and wait for the driver to remove its finalizer: five slots
		// pass without another snapshot.
		Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">", schedule.CreationTimestamp.Add(15*time.Second)))
		Eventually(history.All).WithContext(ctx).Should(And(HaveLen(3), HaveEach(HaveField("Last.DeletionTimestamp", Not(BeNil())))))
		Expect(cluster.Since(start).In(namespace).Of("volumesnapshots", "delete")).To(HaveLen(3))

		resume()
		Eventually(func(g Gomega) {
			requeueDeleted(ctx, namespace)
			for _, claim := range []string{"data-0", "data-1", "data-2"} {
				snapshots := history.Of(claim)
				g.Expect(len(snapshots)).To(BeNumerically(">=", 3))
				g.Expect(snapshots[0].Deleted).To(BeTrue(), "the failed snapshot of %s should be deleted", claim)
				g.Expect(snapshots[1:]).To(ContainElement(HaveField("Last", Satisfy(ready))), "a later snapshot of %s should become ready", claim)
			}
		}).WithContext(ctx).WithTimeout(2 * time.Minute).WithPolling(2 * time.Second).Should(Succeed())
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled))
		history.ExpectInOrder()
	}, NodeTimeout(4*time.Minute))
})
