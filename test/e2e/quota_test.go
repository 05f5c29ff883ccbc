// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

var _ = Describe("the quota of SECURITY.md", func() {
	It("limits the schedules of a namespace", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "tenant")
		page, err := os.ReadFile(filepath.Join(harness.Root, "SECURITY.md"))
		Expect(err).NotTo(HaveOccurred())
		block := regexp.MustCompile("(?s)```yaml\n(apiVersion: v1\nkind: ResourceQuota\n.*?)```").FindSubmatch(page)
		Expect(block).NotTo(BeNil())
		quota := &corev1.ResourceQuota{}
		Expect(yaml.UnmarshalStrict(block[1], quota)).To(Succeed())
		quota.Namespace = namespace
		Expect(cluster.Client.Create(ctx, quota)).To(Succeed())
		const schedules corev1.ResourceName = "count/snapshotschedules.snapshots.mapcontroller.dev"
		limit := quota.Spec.Hard[schedules]
		Expect(limit.Value()).To(BeNumerically(">", 1))
		waitForQuota(ctx, quota, schedules)

		create := func(i int64) error {
			return cluster.Client.Create(ctx, &v1alpha1.SnapshotSchedule{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("schedule-%d", i)}, Spec: hourly,
			})
		}
		for i := range limit.Value() {
			Expect(create(i)).To(Succeed())
		}
		err = create(limit.Value())
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring("exceeded quota: " + quota.Name)))
	})
})

// waitForQuota waits until a quota is in force for a kind. The quota controller discovers a new CRD within half a minute, and then
// counts for a quota whose limits change.
func waitForQuota(ctx context.Context, quota *corev1.ResourceQuota, kind corev1.ResourceName) {
	GinkgoHelper()
	pods := int64(100)
	Eventually(func() corev1.ResourceList {
		before := quota.DeepCopy()
		pods++
		quota.Spec.Hard[corev1.ResourcePods] = *resource.NewQuantity(pods, resource.DecimalSI)
		Expect(cluster.Client.Patch(ctx, quota, client.MergeFrom(before))).To(Succeed())
		return harness.Get(ctx, cluster, quota).Status.Used
	}).WithContext(ctx).WithTimeout(time.Minute).WithPolling(time.Second).Should(HaveKey(kind), "the quota should be in force")
}
