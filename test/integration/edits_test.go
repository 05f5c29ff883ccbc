// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func editDelay(d v1alpha1.Duration) func(*spec) {
	return func(s *spec) { s.Retention.EditDelay = d }
}

// confirmGeneration sets the annotation to the schedule's generation, or one that differs by so many.
func confirmGeneration(s *schedule, difference int64) {
	GinkgoHelper()
	setAnnotation(s, v1alpha1.AnnotationConfirmGeneration, strconv.FormatInt(get(s.DeepCopy()).Generation+difference, 10))
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

// The schedules here are suspended, so that no snapshot is taken when the clocks are advanced.
var _ = Describe("Edits", func() {
	var (
		env  *environment
		s    *schedule
		data *claim
		old  *snapshot
		last *snapshot
	)
	// protected creates a schedule that keeps two snapshots of a PVC.
	protected := func(changes ...func(*spec)) {
		GinkgoHelper()
		env = newEnvironment()
		s = env.createSchedule("backup", append([]func(*spec){suspended, ttl("30d"), editDelay("1h")}, changes...)...)
		data = env.createClaim("data")
		old, last = env.createSnapshot(s, data, 3*time.Hour), env.createSnapshot(s, data, 2*time.Hour)
	}
	// ahead is the age of the snapshots: both are beyond any TTL that the specs shorten it to.
	const ahead = 4 * time.Hour
	// recorded waits until the record is of the schedule's generation.
	recorded := func() {
		GinkgoHelper()
		Eventually(recordedGeneration(s)).Should(Equal(get(s.DeepCopy()).Generation))
	}
	// waits expects that a snapshot waits for the delay, and nothing was deleted.
	waits := func(o *operator) {
		GinkgoHelper()
		Eventually(retentionPaused(s)).Should(Equal("True SpecChanged"))
		recorded()
		requeue(data)
		Consistently(o.network.deletes, time.Second).Should(BeZero())
		Expect(env.snapshotNames()).To(ConsistOf(old.Name, last.Name))
	}
	// passes advances both clocks, and reconciles the PVC.
	passes := func(o *operator, d time.Duration) {
		GinkgoHelper()
		o.advanceClocks(d)
		requeue(data)
	}

	// Contract: EDIT-1, EDIT-2, EDIT-5.
	It("deletes nothing for the delay after an edit, says so, and then does", func() {
		protected()
		o := env.startOperator(clocksAhead(ahead))
		recorded()
		first := status(s).Retention
		Expect(first.SinceTime.Time).To(BeTemporally("~", time.Now().Add(ahead), time.Minute), "by the API server's clock")
		mergePatch(s, `{"spec":{"snapshotTTL":"1h"}}`)
		waits(o)
		r := status(s).Retention
		Expect(r.EditDelay).To(Equal(v1alpha1.Duration("1h")))
		Expect(r.SinceTime.Time).To(BeTemporally(">=", first.SinceTime.Time))
		Eventually(func() string { return pausedMessage(s) }).Should(And(
			ContainSubstring("1 of 2 VolumeSnapshots would be deleted"),
			ContainSubstring("until "+r.SinceTime.Add(time.Hour).UTC().Format(time.RFC3339)),
			ContainSubstring(fmt.Sprintf("kubectl annotate snapshotschedule backup -n %s --overwrite snapshots.mapcontroller.dev/confirm-generation=2",
				env.namespace))))
		Eventually(env.events).Should(ContainElement(HavePrefix("Warning RetentionPaused SnapshotSchedule/backup: the spec changed")))
		passes(o, 50*time.Minute)
		waits(o)
		passes(o, 11*time.Minute)
		Eventually(env.snapshotNames).Should(ConsistOf(last.Name))
		Eventually(retentionPaused(s)).Should(Equal("False RetentionRunning"))
	})

	// Contract: EDIT-1, EDIT-2.
	It("protects from an edit while the operator is down", func() {
		protected()
		o := env.startOperator(clocksAhead(ahead))
		recorded()
		o.stop()
		mergePatch(s, `{"spec":{"snapshotTTL":"1h","retention":{"editDelay":null}}}`)
		restarted := env.startOperator(clocksAhead(ahead + 24*time.Hour))
		waits(restarted)
		Expect(status(s).Retention.SinceTime.Time).To(BeTemporally("~", time.Now().Add(ahead+24*time.Hour), time.Minute),
			"from when it was seen, not from when it was made")
		passes(restarted, 61*time.Minute)
		Eventually(env.snapshotNames).Should(ConsistOf(last.Name))
		Eventually(recordedGeneration(s)).Should(BeZero(), "without a delay there is no record")
	})

	// Contract: EDIT-3.
	It("deletes at once what is confirmed, and takes no other confirmation", func() {
		protected()
		o := env.startOperator(clocksAhead(ahead))
		recorded()
		mergePatch(s, `{"spec":{"snapshotTTL":"1h","retention":{"editDelay":"10m"}}}`)
		confirmGeneration(s, -1)
		waits(o)
		setAnnotation(s, v1alpha1.AnnotationConfirmGeneration, "true")
		waits(o)
		Expect(status(s).Retention.EditDelay).To(Equal(v1alpha1.Duration("1h")))
		confirmGeneration(s, 0)
		Eventually(env.snapshotNames).Should(ConsistOf(last.Name))
		Eventually(retentionPaused(s)).Should(Equal("False RetentionRunning"))
		Eventually(func() v1alpha1.Duration { return status(s).Retention.EditDelay }).Should(Equal(v1alpha1.Duration("10m")))

		// Not seen before the spec changes: under the one that is confirmed, the older one would go at once.
		o.network.freeze("volumesnapshots")
		newer := env.createSnapshot(s, data, time.Hour)
		mergePatch(s, `{"spec":{"snapshotTTL":"30m"}}`)
		recorded()
		o.network.thaw("volumesnapshots")
		passes(o, 9*time.Minute) // less than the delay, which begins with the record
		Eventually(retentionPaused(s)).Should(Equal("True SpecChanged"), "the confirmation was of an older generation")
		Expect(env.snapshotNames()).To(ConsistOf(last.Name, newer.Name))
	})

	// Contract: EDIT-2.
	It("rests no delete on a record that the API server no longer has", func() {
		protected(ttl("3h"))
		o := env.startOperator(clocksAhead(2 * time.Hour))
		recorded()
		o.network.freeze("snapshotschedules") // the cache keeps the record
		Expect(api.Status().Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(`{"status":{"retention":null}}`)))).To(Succeed())
		reads := o.network.count("GET", "snapshotschedules")
		passes(o, 61*time.Minute)
		Eventually(func() int { return o.network.count("GET", "snapshotschedules") }).Should(BeNumerically(">", reads), "the guard's read")
		Consistently(o.network.deletes, time.Second).Should(BeZero())
		o.network.thaw("snapshotschedules")
		waits(o)
		passes(o, 61*time.Minute)
		Eventually(env.snapshotNames).Should(ConsistOf(last.Name))
	})

	// Contract: EDIT-4, EDIT-5.
	It("deletes no snapshot in its first hour that is older than the schedule, and others as usual", func() {
		protected(editDelay(""), ttl("1h"))
		env.deleteOrphaning(s)
		s = env.createSchedule("backup", suspended, ttl("30m"))
		var own []*snapshot
		for i := range 2 {
			own = append(own, env.createSnapshot(s, data, time.Minute, withName(fmt.Sprintf("own-%d", i))))
		}
		o := env.startOperator(clocksAhead(45 * time.Minute))
		Eventually(retentionPaused(s)).Should(Equal("True SnapshotsAdopted"))
		Eventually(env.snapshotNames).Should(ConsistOf(old.Name, last.Name, own[1].Name), "its own are deleted")
		Eventually(func() string { return pausedMessage(s) }).Should(And(
			ContainSubstring("2 of 3 VolumeSnapshots are older than this schedule"),
			ContainSubstring("until "+s.CreationTimestamp.Add(time.Hour).UTC().Format(time.RFC3339))))
		Eventually(env.events).Should(ContainElement(HavePrefix("Warning RetentionPaused SnapshotSchedule/backup: an earlier schedule")))
		passes(o, 16*time.Minute)
		Eventually(env.snapshotNames).Should(ConsistOf(own[1].Name))
		Eventually(retentionPaused(s)).Should(Equal("False RetentionRunning"))
	})
})
