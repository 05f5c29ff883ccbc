// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package bare

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// One operator runs while the VolumeSnapshot CRDs are missing, are installed, a thousand PVCs fall
// due at once, nothing is due for a minute, and the CRDs are deleted again.
var _ = Describe("an operator on a bare API server", Ordered, func() {
	const (
		claims = 1000
		// idle is how long L2 promises no requests.
		idle = time.Minute
		// recovery is an attempt to discover the CRDs once a minute, and some time to act on it.
		recovery = 90 * time.Second
	)
	var (
		operator        *harness.Operator
		few, fan        string
		schedule, often *v1alpha1.SnapshotSchedule
		begin           audit.Mark
		crds            []*unstructured.Unstructured
	)

	BeforeAll(func(ctx context.Context) {
		crds = harness.SnapshotCRDs()
		begin = cluster.Audit.Mark()
		few, fan = cluster.Namespace(ctx, "few"), cluster.Namespace(ctx, "fan")
		cluster.FakeBoundClaims(ctx, few, 3)
		schedule = cluster.Schedule(ctx, few, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"})
		// Nothing cuts snapshots here, and a thousand are taken at once.
		operator = cluster.Start(ctx, "--max-in-flight-per-driver=0")
	})

	It("reports within seconds that the VolumeSnapshot CRDs are missing, and stays ready", func(ctx context.Context) {
		Eventually(harness.Fresh(ctx, cluster, schedule)).WithContext(ctx).WithTimeout(10 * time.Second).Should(
			harness.BeReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotAPIMissing))
		Expect(operator.Probe("readyz")).To(Equal(http.StatusOK))
		Expect(operator.Probe("healthz")).To(Equal(http.StatusOK))
	})

	// Contract: STAT-6.
	It("takes snapshots about a minute after the VolumeSnapshot CRDs are installed", func(ctx context.Context) {
		mark := time.Now()
		cluster.Apply(ctx, crds...)
		Eventually(func() int { return len(cluster.Snapshots(ctx, few)) }).
			WithContext(ctx).WithTimeout(recovery).Should(Equal(3))
		AddReportEntry("first snapshots after the CRDs were installed", time.Since(mark).Round(time.Second/10))
		Eventually(harness.Fresh(ctx, cluster, schedule)).WithContext(ctx).Should(And(
			harness.BeReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.Outputs.VolumeSnapshots.Total", BeEquivalentTo(3))))
		Expect(operator.Alive()).To(BeTrue())
	})

	It("takes the snapshots of a thousand PVCs that fall due at once with a thousand writes", func(ctx context.Context) {
		cluster.FakeBoundClaims(ctx, fan, claims)
		history := cluster.Record(ctx, fan)
		mark := cluster.Audit.Mark()
		start := time.Now()
		all := cluster.Schedule(ctx, fan, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"})
		Eventually(func() int { return len(history.All()) }).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(claims))
		took := time.Since(start)
		Eventually(harness.Fresh(ctx, cluster, all)).WithContext(ctx).Should(And(
			harness.BeReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.Inputs.PersistentVolumeClaims.Total", BeEquivalentTo(claims)),
			HaveField("Status.Outputs.VolumeSnapshots.Total", BeEquivalentTo(claims))))
		requests := cluster.Audit.Since(mark)
		creates := requests.In(fan).Of("volumesnapshots", "create")
		span := creates[len(creates)-1].Time.Sub(creates[0].Time)
		AddReportEntry("a thousand at once", fmt.Sprintf("all seen %s after the schedule was created; creates within %s: %.0f creates/s",
			took.Round(time.Millisecond), span.Round(time.Millisecond), float64(len(creates))/span.Seconds()))
		AddReportEntry("requests", "\n"+requests.Summary())
		Expect(creates).To(HaveLen(claims))
		Expect(creates).To(HaveEach(HaveField("Code", http.StatusCreated)))
		Expect(requests.Of("volumesnapshots", "patch", "update", "delete", "deletecollection")).To(BeEmpty())
		Expect(len(requests.Of("snapshotschedules/status", "patch", "update"))).To(BeNumerically("<=", 3+int(took/(5*time.Second))))
		Expect(requests.Of("events", "create", "patch")).To(BeEmpty())
		Expect(cluster.Snapshots(ctx, fan)).To(HaveLen(claims))
		Expect(history.Duplicates()).To(BeEmpty())
	})

	// Contract: STAT-8.
	It("makes no request but watches for a whole minute while nothing is due", func(ctx context.Context) {
		mark, since := cluster.Audit.Mark(), time.Now()
		Eventually(func(g Gomega) {
			if busy := cluster.Audit.Since(mark).Busy(); len(busy) > 0 {
				mark, since = cluster.Audit.Mark(), time.Now()
			}
			g.Expect(time.Since(since)).To(BeNumerically(">", 6*time.Second), "longer than the status interval")
		}).WithContext(ctx).Should(Succeed(), "the operator should become idle")

		versions := versionsOf(ctx, few, fan)
		mark = cluster.Audit.Mark()
		Consistently(func() audit.Requests { return cluster.Audit.Since(mark).Busy() }).
			WithContext(ctx).WithTimeout(idle).WithPolling(5 * time.Second).Should(BeEmpty())
		AddReportEntry("requests in an idle minute", "\n"+cluster.Audit.Since(mark).Summary())
		Expect(versionsOf(ctx, few, fan)).To(Equal(versions), "resourceVersions should not change")
	})

	// Contract: STAT-6.
	It("stays ready and reports it when the VolumeSnapshot CRDs are deleted, and recovers when they are back", func(ctx context.Context) {
		Expect(cluster.Client.Delete(ctx, builders.Schedule(fan, "nightly", v1alpha1.SnapshotScheduleSpec{}))).To(Succeed())
		namespace := cluster.Namespace(ctx, "away")
		cluster.FakeBoundClaims(ctx, namespace, 2)
		often = cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "2s", ReadyDeadline: "1s"})
		Eventually(func() int { return len(cluster.Snapshots(ctx, namespace)) }).WithContext(ctx).Should(Equal(2))

		for _, crd := range crds {
			Expect(cluster.Client.Delete(ctx, crd.DeepCopy())).To(Succeed())
		}
		mark := time.Now()
		for _, s := range []*v1alpha1.SnapshotSchedule{schedule, often} {
			Eventually(harness.Fresh(ctx, cluster, s)).WithContext(ctx).WithTimeout(recovery).Should(
				harness.BeReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotAPIMissing))
		}
		AddReportEntry("reported that the CRDs were deleted after", time.Since(mark).Round(time.Second/10))
		Expect(operator.Alive()).To(BeTrue())
		Expect(operator.Probe("readyz")).To(Equal(http.StatusOK))

		deleted := cluster.Audit.Mark()
		mark = time.Now()
		for _, crd := range crds {
			Eventually(func() error {
				return cluster.Client.Get(ctx, client.ObjectKeyFromObject(crd), crd.DeepCopy())
			}).WithContext(ctx).ShouldNot(Succeed(), "%s should be deleted", crd.GetName())
		}
		cluster.Apply(ctx, crds...)
		for namespace, n := range map[string]int{namespace: 2, few: 3} {
			Eventually(func() int { return len(cluster.Snapshots(ctx, namespace)) }).
				WithContext(ctx).WithTimeout(recovery).Should(Equal(n), "snapshots in %s", namespace)
		}
		AddReportEntry("first snapshots after the CRDs came back", time.Since(mark).Round(time.Second/10))
		Eventually(harness.Fresh(ctx, cluster, schedule)).WithContext(ctx).WithTimeout(recovery).Should(And(
			harness.BeReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.Outputs.VolumeSnapshots.Total", BeEquivalentTo(3))))
		Expect(operator.Alive()).To(BeTrue())
		AddReportEntry("requests from then on", "\n"+cluster.Audit.Since(deleted).Summary())
	})

	AfterAll(func() {
		AddReportEntry("all requests of the operator", "\n"+cluster.Audit.Since(begin).Summary())
	})
})

// versionsOf returns the resourceVersions of everything that the operator writes.
func versionsOf(ctx context.Context, namespaces ...string) map[string]string {
	versions := map[string]string{}
	for _, namespace := range namespaces {
		all := &v1alpha1.SnapshotScheduleList{}
		Expect(cluster.Client.List(ctx, all, client.InNamespace(namespace))).To(Succeed())
		for i := range all.Items {
			versions[namespace+"/"+all.Items[i].Name] = all.Items[i].ResourceVersion
		}
		for _, v := range cluster.Snapshots(ctx, namespace) {
			versions[namespace+"/"+v.Name] = v.ResourceVersion
		}
	}
	return versions
}
