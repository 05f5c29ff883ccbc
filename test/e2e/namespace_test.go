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
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

var _ = Describe("a namespace that is deleted while its schedule takes snapshots", func() {
	It("is removed, and the operator keeps working", func(ctx context.Context) {
		start := cluster.Audit.Mark()
		operator := cluster.Start(ctx)
		namespace, history := cluster.Recorded(ctx, "deleted", 3)
		cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1s", SnapshotTTL: "10s"})
		Eventually(func() int { return len(history.All()) }).WithContext(ctx).Should(BeNumerically(">=", 9))

		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		Expect(cluster.Client.Delete(ctx, object)).To(Succeed())
		began := time.Now()
		Eventually(func() bool {
			return apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(object), object))
		}).WithContext(ctx).WithTimeout(time.Minute).Should(BeTrue(), "the namespace should be deleted")
		afterwards := cluster.Audit.Mark()
		lasted := time.Since(began).Seconds()

		// The operator has seen the deletion once it has taken a few snapshots for a schedule that was created
		// later.
		later, after := cluster.Recorded(ctx, "later", 1)
		cluster.Schedule(ctx, later, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1s", SnapshotTTL: "10s"})
		Eventually(func() int { return len(after.All()) }).WithContext(ctx).Should(BeNumerically(">=", 5))

		Expect(operator.Alive()).To(BeTrue())
		Expect(operator.Probe("healthz")).To(Equal(http.StatusOK))
		Expect(cluster.Audit.Since(afterwards).In(namespace)).To(BeEmpty(), "requests for a namespace that was deleted")
		refused := cluster.Audit.Since(start).In(namespace).Where(func(r audit.Request) bool { return r.Code == http.StatusForbidden })
		AddReportEntry("creates refused while the namespace was being deleted", len(refused))
		// One slot per second for each of three PVCs, and as many retries.
		Expect(float64(len(refused))).To(BeNumerically("<=", 3*2*(lasted+2)), "the operator should not retry in a tight loop:\n%s", refused.Summary())
		Expect(len(operator.Errors())).To(BeNumerically("<=", 10), "errors should stop:\n%v", operator.Errors())
	})
})
