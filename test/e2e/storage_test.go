// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

// mockDriver is the CSI driver of the local cluster.
const mockDriver = "mock.csi.k8s.io"

// provisionedBy sets the driver that Kubernetes recorded in a PVC, as JSON.
func provisionedBy(ctx context.Context, namespace, claim, driver string) {
	o := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: claim}}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"volume.kubernetes.io/storage-provisioner":%s,`+
		`"volume.beta.kubernetes.io/storage-provisioner":%s}}}`, driver, driver)
	ExpectWithOffset(1, cluster.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

var _ = Describe("mixed storage", func() {
	// Contract: CLASS-1, CLASS-4, CLASS-5.
	It("is snapshotted where a class fits, with the first listed one, until the class is deleted", func(ctx context.Context) {
		cluster.Start(ctx)
		namespace := cluster.Namespace(ctx, "mixed")
		cluster.BoundClaims(ctx, namespace, 2)
		provisionedBy(ctx, namespace, "data-1", `"nfs.example.com"`)
		class := &snapshotv1.VolumeSnapshotClass{
			ObjectMeta: metav1.ObjectMeta{Name: namespace}, Driver: mockDriver, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
		}
		Expect(cluster.Client.Create(ctx, class)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(cluster.Client.Delete(ctx, class))).To(Succeed())
		})
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h",
			SnapshotTemplate: v1alpha1.SnapshotTemplate{Spec: v1alpha1.SnapshotTemplateSpec{
				VolumeSnapshotClassNames: []v1alpha1.SnapshotClassName{"none", v1alpha1.SnapshotClassName(namespace)}}},
		})
		taken := eventuallySnapshots(ctx, namespace, 1)[0]
		Expect(taken.Spec.VolumeSnapshotClassName).To(HaveValue(Equal(namespace)))
		Eventually(harness.Fresh(ctx, cluster, &taken)).WithContext(ctx).Should(Satisfy(harness.Ready))
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.Inputs.PersistentVolumeClaims", v1alpha1.InputCount{Total: 2, Skipped: 1})))

		By("naming the class, and deleting it")
		named := fmt.Sprintf(`{"spec":{"snapshotTemplate":{"spec":{"volumeSnapshotClassNames":null,"volumeSnapshotClassName":%q}}}}`, namespace)
		Expect(cluster.Client.Patch(ctx, schedule, client.RawPatch(types.MergePatchType, []byte(named)))).To(Succeed())
		Expect(cluster.Client.Delete(ctx, class)).To(Succeed())
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing),
			haveProblem("data-0", v1alpha1.ReasonWrongSnapshotClass)))
		Expect(cluster.Snapshots(ctx, namespace)).To(HaveLen(1))
	})
})
