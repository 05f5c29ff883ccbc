// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// forbidTTL makes the API server refuse a SnapshotSchedule in a namespace that has a TTL.
func (env *environment) forbidTTL() {
	GinkgoHelper()
	probe := &schedule{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, GenerateName: "probe-"}}
	probe.Spec = spec{SnapshotInterval: "1h", SnapshotTTL: "1h"}
	env.deny("!has(object.spec.snapshotTTL)", probe, admissionv1.Rule{
		APIGroups: []string{v1alpha1.GroupName}, APIVersions: []string{"*"}, Resources: []string{"snapshotschedules"},
	}, admissionv1.Create, admissionv1.Update)
}

var _ = Describe("A ClusterSnapshotSchedule in trouble", func() {
	BeforeEach(deleteAllSchedules)

	// Contract: FLEET-5.
	It("goes on with the other namespaces where a quota is full, and creates the child when there is room", func() {
		const quota = corev1.ResourceName("count/snapshotschedules." + v1alpha1.GroupName)
		f := newFleet()
		full := f.newNamespace()
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: full.namespace, Name: "schedules"}}
		q.Spec.Hard = corev1.ResourceList{quota: resource.MustParse("0")}
		Expect(api.Create(ctx, q)).To(Succeed())
		q.Status = corev1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: corev1.ResourceList{quota: resource.MustParse("0")}}
		Expect(api.Status().Update(ctx, q)).To(Succeed())
		startFleetOperator(forbidden)
		for range 3 {
			f.waitForChild(f.newNamespace())
		}
		Eventually(f.counts).Should(Equal("4 3 3 3 0"))
		Eventually(f.problems).Should(ConsistOf(full.namespace + " " + v1alpha1.ReasonCreateFailed))
		since := f.status().Problems[0].SinceTime
		Expect(f.ready()).To(Equal("False SchedulesFailing"))
		Eventually((&environment{namespace: "default"}).events).Should(ContainElement(And(
			ContainSubstring("Warning CreateFailed ClusterSnapshotSchedule/"+f.Name), ContainSubstring("exceeded quota"))))
		f.waitForChild(f.newNamespace())
		Expect(f.status().Problems[0].SinceTime).To(Equal(since))
		Expect(api.Delete(ctx, q)).To(Succeed())
		f.waitForChild(full)
		Eventually(f.counts).Should(Equal("5 5 5 5 0"))
		Eventually(f.ready).Should(Equal("True Scheduled"))
	})

	// Contract: FLEET-5.
	It("goes on with the other namespaces where admission refuses a change, and makes it when it is allowed", func() {
		f := newFleet()
		strict, other := f.newNamespace(), f.newNamespace()
		o := startFleetOperator()
		child := f.waitForChild(strict)
		f.waitForChild(other)
		strict.forbidTTL()
		f.edit(func(c *clusterSchedule) { c.Spec.Template.Spec.SnapshotTTL = "10d" })
		Eventually(func() v1alpha1.Duration { return get(f.child(other)).Spec.SnapshotTTL }).Should(Equal(v1alpha1.Duration("10d")))
		Eventually(f.counts).Should(Equal("2 2 1 2 0"))
		Eventually(f.problems).Should(ConsistOf(strict.namespace + " " + v1alpha1.ReasonUpdateFailed))
		Expect(get(child).Spec.SnapshotTTL).To(BeEmpty())
		refused := func() int {
			return len(o.network.find(func(r request) bool { return r.method == "PATCH" && r.answer == 422 }))
		}
		before := refused()
		Consistently(refused, "2s").Should(BeNumerically("<=", before+4), "it should back off: an attempt has two requests")
		f.edit(func(c *clusterSchedule) { c.Spec.Template.Spec.SnapshotTTL = "" })
		Eventually(f.counts).Should(Equal("2 2 2 2 0"))
		Eventually(f.ready).Should(Equal("True Scheduled"))
	})

	// Contract: FLEET-8, STAT-8.
	It("makes no request except watches while nothing is due, nor does its SnapshotSchedule", func() {
		f := newFleet(everyHour)
		env := f.newNamespace()
		env.createClaim("data")
		o := startFleetOperator()
		child := f.waitForChild(env)
		makeReady(env.waitForSnapshot("data"))
		Eventually(func() int32 { return status(child).Outputs.VolumeSnapshots.Ready }).Should(BeEquivalentTo(1))
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
		sent := func() int { return len(o.network.find(func(r request) bool { return !r.isWatch() })) }
		Consistently(sent, "2s", "100ms").Should(Equal(settled(sent)))
	})
})

var _ = Describe("The operator without ClusterSnapshotSchedules", func() {
	BeforeEach(deleteAllSchedules)

	protects := func() {
		GinkgoHelper()
		env := newEnvironment()
		env.createSchedule("backup")
		env.createClaim("data")
		env.waitForSnapshot("data")
	}

	// Contract: FLEET-8.
	It("works where their CRD is missing, and keeps them when it is installed", func() {
		install := uninstall(filepath.Join("..", "..", "config", "crd", "bases", v1alpha1.GroupName+"_clustersnapshotschedules.yaml"),
			&v1alpha1.ClusterSnapshotScheduleList{})
		startFleetOperator(forbidden)
		protects()
		install()
		f := newFleet()
		env := f.newNamespace()
		// The admission plugin OwnerReferencesPermissionEnforcement looks for new kinds every 30 seconds only, and denies until then.
		Eventually(isDeleted(f.child(env))).WithTimeout(2 * time.Minute).Should(BeFalse())
		f.waitForChild(env)
		Eventually(f.ready).Should(Equal("True Scheduled"))
	})

	// Contract: FLEET-8.
	It("works where their permissions are not granted, and keeps them once they are", func() {
		binding := bindingOf("fleet-manager-role")
		Expect(api.Delete(ctx, binding)).To(Succeed())
		grant := func() {
			binding.ResourceVersion = ""
			if err := api.Create(ctx, binding); !apierrors.IsAlreadyExists(err) {
				Expect(err).NotTo(HaveOccurred())
			}
		}
		DeferCleanup(grant)
		startFleetOperator(forbidden)
		protects()
		grant()
		f := newFleet()
		f.waitForChild(f.newNamespace())
		Eventually(f.ready).Should(Equal("True Scheduled"))
	})
})
