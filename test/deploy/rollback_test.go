// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

var _ = Describe("rollback with data", Ordered, func() {
	const (
		deployment  = "deployment/web"
		statefulSet = "statefulset/db"
	)
	var (
		s    *site
		at   string
		sums = map[string]string{}
	)

	BeforeAll(func(ctx context.Context) {
		s = newSite(ctx, "rolled-back")
		s.deploy(ctx, "web")
		class := &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: "waits"}, Provisioner: "mock.csi.k8s.io",
			VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
		}
		Expect(cluster.Client.Create(ctx, class)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(cluster.Client.Delete(ctx, class)).To(Succeed()) })
		claim := builders.Claim("", "data", nil)
		claim.Spec.StorageClassName = &class.Name
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "db"}, Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, Template: template("db"),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{*claim},
		}}
		Expect(cluster.Client.Create(ctx, set)).To(Succeed())
		for _, workload := range []string{deployment, statefulSet} {
			sums[workload] = s.inpod(ctx, workload, "write", dataFile)
		}
		s.schedule(ctx, 2)
		for _, v := range s.snapshots(ctx) {
			if cut := v.Status.CreationTime.Time.UTC().Format(time.RFC3339); cut > at {
				at = cut
			}
		}
	}, NodeTimeout(5*time.Minute))

	// Contract: BACK-1.
	DescribeTable("brings the old bytes back under the PVC's own name, and the damaged ones with --undo",
		func(ctx context.Context, workload string) {
			damaged := s.inpod(ctx, workload, "write", dataFile)
			Expect(damaged).NotTo(Equal(sums[workload]))

			code, output := s.snapsched(ctx, "rollback", workload, "--as-of", at, "--yes")
			Expect(code).To(BeZero(), output)
			Expect(s.inpod(ctx, workload, "sum", dataFile)).To(Equal(sums[workload]))

			_, undo, found := strings.Cut(output, "To undo this: kubectl snapsched ")
			Expect(found).To(BeTrue(), output)
			code, output = s.snapsched(ctx, append(strings.Fields(undo), "--yes")...)
			Expect(code).To(BeZero(), output)
			Expect(s.inpod(ctx, workload, "sum", dataFile)).To(Equal(damaged))
		},
		Entry("of a Deployment", deployment, NodeTimeout(3*time.Minute)),
		Entry("of a StatefulSet, in a storage class that waits for a pod", statefulSet, NodeTimeout(3*time.Minute)),
	)
})
