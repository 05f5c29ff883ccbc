// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report/reporttest"
)

var _ = Describe("Hostile text", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// Contract: STAT-14, MET-6.
	It("keeps status and metrics, whatever an editor of PVCs writes into an annotation", func() {
		env.createClass("fast", "block", true)
		env.createClaimOf("good", env.driver("block"))
		env.createClaimOf("long", "kubernetes.io/"+strings.Repeat("x", 40_000))
		s := env.createSchedule("backup")

		By("writing what JSON cannot contain, as a client with protobuf can")
		c := env.createPendingClaim("nasty")
		setPhase(c, "Bound")
		Expect(api.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
		c.Annotations = map[string]string{provisioner: reporttest.Nasty}
		Expect(api.Update(ctx, c)).To(Succeed())
		v := env.createSnapshot(s, c, 10*time.Second)
		v.Status = nil
		Expect(api.Status().Update(ctx, v)).To(Succeed())
		env.startOperator()

		makeReady(env.waitForSnapshot("good"))
		Eventually(func() int32 { return selected(s) }).Should(BeEquivalentTo(3), "the API server should accept the status")
		ready := meta.FindStatusCondition(status(s).Conditions, v1alpha1.ConditionReady)
		messages := []string{ready.Message}
		for _, problem := range status(s).Problems {
			messages = append(messages, problem.Message)
		}
		Expect(reporttest.WrongMessages(messages...)).To(BeEmpty())
		Expect(ready.Message).To(ContainSubstring("1 skipped: long: NotSnapshottable: kubernetes.io/ is an in-tree plugin"))
		_, err := metrics.Registry.Gather()
		Expect(err).NotTo(HaveOccurred(), "a driver that is not UTF-8 should fail no scrape")
	})
})
