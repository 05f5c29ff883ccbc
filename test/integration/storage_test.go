// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

const (
	provisioner  = "volume.kubernetes.io/storage-provisioner"
	defaultClass = "snapshot.storage.kubernetes.io/is-default-class"
)

// driver returns the name of a driver that is only this environment's: VolumeSnapshotClasses are cluster-scoped.
func (env *environment) driver(name string) string { return name + "." + env.namespace }

// createClass creates a VolumeSnapshotClass of a driver until the end of the spec. Its name is the environment's, too.
func (env *environment) createClass(name, driver string, isDefault bool) *snapshotv1.VolumeSnapshotClass {
	GinkgoHelper()
	class := &snapshotv1.VolumeSnapshotClass{
		ObjectMeta: metav1.ObjectMeta{Name: name + "." + env.namespace}, Driver: env.driver(driver),
		DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
	}
	if isDefault {
		class.Annotations = map[string]string{defaultClass: "true"}
	}
	Expect(api.Create(ctx, class)).To(Succeed())
	DeferCleanup(func() { Expect(client.IgnoreNotFound(api.Delete(ctx, class))).To(Succeed()) })
	return class
}

// createClaimOf creates a bound PVC that a driver provisioned, as Kubernetes annotates it.
func (env *environment) createClaimOf(name, driver string, labels ...string) *claim {
	GinkgoHelper()
	c := env.createPendingClaim(name, labels...)
	setAnnotation(c, provisioner, driver)
	setPhase(c, "Bound")
	return c
}

// skippedCount returns status.inputs.persistentvolumeclaims.skipped.
func skippedCount(s *schedule) func() int32 {
	return func() int32 { return ptr.Deref(status(s).Inputs, v1alpha1.Inputs{}).PersistentVolumeClaims.Skipped }
}

// unprotected returns the metric of this namespace; -1 if there is none.
func (env *environment) unprotected() float64 {
	GinkgoHelper()
	if n, ok := metricsWith(map[string]string{"namespace": env.namespace})["unprotected_persistentvolumeclaims"]; ok {
		return n
	}
	return -1
}

var _ = Describe("Mixed storage", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// Contract: CLASS-1, CLASS-5, MAP-14.
	It("takes what can be snapshotted under one schedule, and fails when a class is then deleted", func() {
		fast := env.createClass("fast", "block", true)
		env.createClaimOf("block", env.driver("block"))
		env.createClaimOf("nfs", env.driver("nfs"))
		env.createClaimOf("in-tree", "kubernetes.io/nfs")
		env.createClaim("by-hand")
		unbound := env.createPendingClaim("unbound")
		setAnnotation(unbound, provisioner, env.driver("block"))
		excluded := env.createPendingClaim("excluded")
		setAnnotation(excluded, v1alpha1.AnnotationExclude, "")
		setAnnotation(excluded, provisioner, env.driver("block"))
		setPhase(excluded, "Bound")
		Expect(api.Delete(ctx, env.createClaimOf("deleting", env.driver("block")))).To(Succeed())
		s := env.createSchedule("backup")
		env.startOperator()

		makeReady(env.waitForSnapshot("block"))
		makeReady(env.waitForSnapshot("by-hand"))
		Eventually(readyCondition(s)).Should(Equal("True Scheduled"))
		Eventually(skippedCount(s)).Should(BeEquivalentTo(4))
		Eventually(func() int32 { return selected(s) }).Should(BeEquivalentTo(6), "all but the excluded one")
		Eventually(readyMessage).WithArguments(s).Should(Equal("6 PersistentVolumeClaims, 4 skipped, for example deleting: being deleted"))
		Expect(status(s).Problems).To(BeEmpty())
		Expect(env.snapshots()).To(HaveLen(2))
		expectMetrics(s, map[string]float64{"persistentvolumeclaims": 6, "skipped_persistentvolumeclaims": 4, "failing_persistentvolumeclaims": 0})
		Expect(env.unprotected()).To(BeZero())

		By("deleting the class")
		Expect(api.Delete(ctx, fast)).To(Succeed())
		Eventually(readyCondition(s)).Should(Equal("False SnapshotsFailing"))
		Expect(problems(s)()).To(ConsistOf(problem("block", v1alpha1.ReasonNoSnapshotClass, "")))
		Expect(readyMessage(s)).To(ContainSubstring("1 of 6 PersistentVolumeClaims failing: block: NoSnapshotClass"))
		Expect(skippedCount(s)()).To(BeEquivalentTo(4))
		Expect(env.events()).NotTo(ContainElement(ContainSubstring("SnapshotClass")))
		Eventually(env.conditionEvents).Should(ConsistOf(HavePrefix(
			"Warning SnapshotsFailing SnapshotSchedule/backup: Ready is False: 1 of 6 PersistentVolumeClaims failing: block: NoSnapshotClass")))

		By("creating it again")
		env.createClass("fast", "block", true)
		Eventually(readyCondition(s)).Should(Equal("True Scheduled"))
		Expect(status(s).Problems).To(BeEmpty())
	})

	// Contract: MAP-14.
	It("selects by storage class, and detaches the series of a PVC that is excluded", func() {
		s := env.createSchedule("backup", func(s *spec) { s.StorageClassNames = []v1alpha1.StorageClassName{"fast"} })
		env.startOperator()
		in := func(name, class string) *claim {
			c := env.createPendingClaim(name)
			mergePatch(c, `{"spec":{"storageClassName":"`+class+`"}}`) // as Kubernetes does when a default class is set
			setPhase(c, "Bound")
			return c
		}
		in("slow", "slow")
		c := in("fast", "fast")
		makeReady(env.waitForSnapshot("fast"))
		Expect(env.snapshotsOf("slow")).To(BeEmpty())
		Eventually(func() int32 { return selected(s) }).Should(BeEquivalentTo(1))
		Eventually(env.unprotected).Should(BeEquivalentTo(1), "the other storage class")

		setAnnotation(c, v1alpha1.AnnotationExclude, "false")
		Eventually(detached(s)).Should(Equal(v1alpha1.Detached{MapKeys: 1, VolumeSnapshots: 1}))
		Expect(env.unprotected()).To(BeEquivalentTo(1), "an excluded PVC is not counted")
		setAnnotation(s, v1alpha1.AnnotationRequestedAt, time.Now().Format(time.RFC3339))
		in("barrier", "fast")
		env.waitForSnapshot("barrier")
		Expect(env.snapshotsOf("fast")).To(HaveLen(1))

		mergePatch(c, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationExclude+`":null}}}`)
		Eventually(detached(s)).Should(BeZero())
	})
})
