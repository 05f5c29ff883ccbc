// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/http"
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

var _ = Describe("a namespace that is deleted with a busy schedule in it", func() {
	It("goes, and the operator is none the worse", func(ctx context.Context) {
		start := cluster.Audit.Mark()
		operator := cluster.Start(ctx)
		namespace := cluster.Namespace(ctx, "doomed")
		cluster.BoundClaims(ctx, namespace, 3)
		history := cluster.Record(ctx, namespace)
		cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1s", SnapshotTTL: "10s"})
		Eventually(history.All).WithContext(ctx).Should(HaveLen(9))

		doomed := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		Expect(cluster.Client.Delete(ctx, doomed)).To(Succeed())
		deleted := time.Now()
		Eventually(func() bool {
			return apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(doomed), doomed))
		}).WithContext(ctx).WithTimeout(time.Minute).Should(BeTrue(), "the namespace should be gone")
		gone := cluster.Audit.Mark()
		lasted := time.Since(deleted).Seconds()

		// The operator has seen the end of it once it serves a schedule that
		// came later, second by second for a while.
		later := cluster.Namespace(ctx, "later")
		cluster.BoundClaims(ctx, later, 1)
		after := cluster.Record(ctx, later)
		cluster.Schedule(ctx, later, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1s", SnapshotTTL: "10s"})
		Eventually(after.All).WithContext(ctx).Should(HaveLen(5))

		Expect(operator.Alive()).To(BeTrue())
		Expect(operator.Probe("healthz")).To(Equal(http.StatusOK))
		Expect(cluster.Audit.Since(gone).In(namespace)).To(BeEmpty(), "nothing is asked about a namespace that is gone")
		refused := cluster.Audit.Since(start).In(namespace).Where(func(r harness.Request) bool { return r.Code == http.StatusForbidden })
		AddReportEntry("creates refused while the namespace was going", len(refused))
		// A slot a second of three PVCs, and as many tries again.
		Expect(float64(len(refused))).To(BeNumerically("<=", 3*2*(lasted+2)), "the operator should not hammer a namespace that is going:\n%s", refused.Count())
		Expect(len(operator.Errors())).To(BeNumerically("<=", 10), "errors should not go on:\n%v", operator.Errors())
	})
})
