// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("The SnapshotSchedule of a namespace that a ClusterSnapshotSchedule no longer selects", func() {
	BeforeEach(deleteAllSchedules)

	expiring := func(c *clusterSchedule) { c.Spec.Template.Spec.SnapshotTTL = "1h" }
	suspended := func(s *schedule) func() bool {
		return func() bool { return get(s).Spec.Suspend && s.Status.ObservedGeneration == s.Generation }
	}
	// deletes returns the deletes of SnapshotSchedules.
	deletes := func(o *operator) int { return o.network.count("DELETE", "snapshotschedules") }

	// Contract: FLEET-4.
	It("is suspended, keeps its snapshots, and is deleted once retention has deleted the last of them", func() {
		f := newFleet(everyHour, expiring)
		env := f.newNamespace()
		c := env.createClaim("data")
		o := startFleetOperator()
		child := f.waitForChild(env)
		makeReady(env.waitForSnapshot("data"))
		removeLabel(env.object(), "backup")
		Eventually(suspended(child)).Should(BeTrue())
		want := f.Spec.Template.Spec
		want.Suspend = true
		Expect(child.Spec).To(Equal(want))
		Eventually(f.counts).Should(Equal("0 1 1 1 1"))
		Expect(f.ready()).To(Equal("True NoMatchingNamespaces"))

		By("keeping the floor of a PVC that exists, however old")
		o.advanceClocks(3 * time.Hour)
		requeue(c)
		Consistently(deletes, "1s").WithArguments(o).Should(BeZero())
		Expect(env.snapshots()).To(HaveLen(1))

		By("deleting the last snapshot of a PVC that is gone, and then the SnapshotSchedule")
		deleteClaim(c)
		Eventually(env.snapshots).Should(BeEmpty())
		Eventually(isDeleted(child)).Should(BeTrue())
		Eventually(f.counts).Should(Equal("0 0 0 0 0"))
		Consistently(isDeleted(child), "500ms").Should(BeTrue())
		Expect(o.childWrites()).To(HaveLen(3), "the create, the suspension and the delete")
	})

	// Contract: FLEET-4.
	It("resumes when the namespace is selected again, and takes part in changes of the template meanwhile", func() {
		f := newFleet(everyHour, expiring)
		env := f.newNamespace()
		env.createClaim("data")
		startFleetOperator()
		child := f.waitForChild(env)
		makeReady(env.waitForSnapshot("data"))
		setAnnotation(env.object(), v1alpha1.AnnotationExclude, "true")
		Eventually(suspended(child)).Should(BeTrue())
		f.edit(func(c *clusterSchedule) { c.Spec.Template.Spec.SnapshotTTL = "9h" })
		Eventually(func() v1alpha1.Duration { return get(child).Spec.SnapshotTTL }).Should(Equal(v1alpha1.Duration("9h")))
		Expect(child.Spec.Suspend).To(BeTrue())
		mergePatch(child, `{"spec":{"suspend":false}}`)
		Eventually(suspended(child)).Should(BeTrue(), "put back")
		mergePatch(env.object(), `{"metadata":{"annotations":null}}`)
		Eventually(func() bool { return get(child).Spec.Suspend }).Should(BeFalse())
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
	})

	// Contract: FLEET-4.
	It("stays until it has observed its suspension", func() {
		f := newFleet()
		env := f.newNamespace()
		first := startFleetOperator()
		child := f.waitForChild(env)
		Eventually(f.counts).Should(Equal("1 1 1 1 0"))
		first.stop()
		// The child's status stays that of the generation before.
		o := startFleetOperator(failing(http.StatusInternalServerError, to("", "/snapshotschedules/"+f.Name+"/status$")))
		removeLabel(env.object(), "backup")
		Eventually(func() bool { return get(child).Spec.Suspend }).Should(BeTrue())
		Consistently(deletes, "1s").WithArguments(o).Should(BeZero())
		o.stop()
		startFleetOperator()
		Eventually(isDeleted(child)).Should(BeTrue())
	})
})
