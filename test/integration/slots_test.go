// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var _ = Describe("Slots", func() {
	var env *environment
	BeforeEach(func() { env = newEnvironment() })

	// Contract: SLOT-6, SLOT-11.
	It("takes a snapshot of the PVCs that a request names, also while suspended", func() {
		s := env.createSchedule("backup", suspended)
		env.startOperator(clocksAhead(time.Minute))
		for _, name := range []string{"a", "b", "c"} {
			env.createClaim(name)
		}
		request := func(names string) {
			setAnnotation(s, v1alpha1.AnnotationRequestedAt, time.Now().UTC().Format(time.RFC3339)+" "+names)
		}
		request("a,c")
		env.waitForSnapshot("a")
		env.waitForSnapshot("c")
		Eventually(readyCondition(s)).Should(Equal("True Suspended"))
		env.createClaim("later")
		request("later") // all that was requested before is taken
		env.waitForSnapshot("later")
		Expect(env.snapshotsOf("b")).To(BeEmpty())
	})

	// Contract: ONE-6.
	It("deletes an uncut snapshot at once when its PVC is being deleted, also if it is held: it has no data", func() {
		env.createSchedule("backup")
		env.startOperator()
		a, b := env.createClaim("a"), env.createClaim("b")
		v, held := env.waitForSnapshot("a"), env.waitForSnapshot("b")
		setAnnotation(held, v1alpha1.AnnotationHold, "mine")
		Expect(api.Delete(ctx, b)).To(Succeed())
		Expect(api.Delete(ctx, a)).To(Succeed())
		Eventually(isDeleted(v)).Should(BeTrue())
		Eventually(isDeleted(held)).Should(BeTrue())
		Expect(get(a).DeletionTimestamp).NotTo(BeNil(), "the snapshot should be deleted before the PVC")
	})
})
