// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func editDelay(d v1alpha1.Duration) func(*spec) {
	return func(s *spec) { s.Retention.EditDelay = d }
}

// recordedGeneration returns the generation of status.retention, zero if there is no record.
func recordedGeneration(s *schedule) func() int64 {
	return func() int64 {
		if r := status(s).Retention; r != nil {
			return r.Generation
		}
		return 0
	}
}

var _ = Describe("An edit", func() {
	// Contract: EDIT-1, EDIT-2, EDIT-5.
	It("deletes nothing for the delay, also if the operator was down, says so, and then does", func() {
		env := newEnvironment()
		s := env.createSchedule("backup", suspended, ttl("30d"), editDelay("1h")) // suspended: the clocks are advanced
		data := env.createClaim("data")
		old, last := env.createSnapshot(s, data, 3*time.Hour), env.createSnapshot(s, data, 2*time.Hour)
		recorded := func(generation int64, ahead time.Duration) {
			GinkgoHelper()
			Eventually(recordedGeneration(s)).Should(Equal(generation))
			Expect(status(s).Retention.SinceTime.Time).To(BeTemporally("~", time.Now().Add(ahead), time.Minute), "when it was seen")
		}
		o := env.startOperator(clocksAhead(4 * time.Hour))
		recorded(1, 4*time.Hour)
		o.stop()
		mergePatch(s, `{"spec":{"snapshotTTL":"1h","retention":{"editDelay":null}}}`)
		o = env.startOperator(clocksAhead(24 * time.Hour))
		waits := func() {
			GinkgoHelper()
			Eventually(retentionPaused(s)).Should(Equal("True SpecChanged"))
			requeue(data)
			Consistently(o.network.deletes, time.Second).Should(BeZero())
			Expect(env.snapshotNames()).To(ConsistOf(old.Name, last.Name))
		}
		waits()
		recorded(2, 24*time.Hour)
		r := status(s).Retention
		Expect(r.EditDelay).To(Equal(v1alpha1.Duration("1h")))
		Eventually(func() string { return pausedMessage(s) }).Should(And(
			ContainSubstring("1 of 2 VolumeSnapshots would be deleted"),
			ContainSubstring("until "+r.SinceTime.Add(time.Hour).UTC().Format(time.RFC3339)),
			ContainSubstring(fmt.Sprintf("kubectl annotate snapshotschedule -n '%s' 'backup' --overwrite snapshots.mapcontroller.dev/confirm-generation=2",
				env.namespace))))
		Eventually(env.events).Should(ContainElement(HavePrefix("Warning RetentionPaused SnapshotSchedule/backup: the spec changed")))
		o.advanceClocks(50 * time.Minute)
		waits()
		o.advanceClocks(11 * time.Minute)
		requeue(data)
		Eventually(env.snapshotNames).Should(ConsistOf(last.Name))
		Eventually(retentionPaused(s)).Should(Equal("False RetentionRunning"))
		Eventually(recordedGeneration(s)).Should(BeZero(), "without a delay there is no record")
	})
})
