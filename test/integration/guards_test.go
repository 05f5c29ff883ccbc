// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func paused(s *schedule) func() string { return condition(s, v1alpha1.ConditionRetentionPaused) }

var _ = Describe("The guards before a delete", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	// series is a PVC with three snapshots, the oldest first, of which a TTL of an hour would
	// let two go: under a schedule that has watched them since before they expired.
	series := func(changes ...func(*spec)) (s *schedule, c *claim, all []*snapshot, o *operator) {
		GinkgoHelper()
		s = w.schedule("backup", append([]func(*spec){suspended, ttl("1h")}, changes...)...)
		c = w.claim("data", "app", "shop")
		for _, ago := range []time.Duration{3 * time.Hour, 2 * time.Hour, time.Hour} {
			all = append(all, w.past(s, c, ago))
		}
		o = w.start()
		Eventually(func() int32 { return status(s).Outputs.VolumeSnapshots.Ready }).Should(BeEquivalentTo(3))
		return s, c, all, o
	}
	names := func(all ...*snapshot) (names []string) {
		for _, v := range all {
			names = append(names, v.Name)
		}
		return names
	}
	deletes := func(o *operator) int { return o.network.of("DELETE", "volumesnapshots") }
	// wake has the operator look at the series again.
	wake := func(c *claim) {
		GinkgoHelper()
		label(c, "wake", time.Now().Format("150405.000000"))
	}
	gets := func(o *operator, o2 client.Object, resource string) func() int {
		return func() int {
			return len(o.network.seen(func(r request) bool {
				return r.method == "GET" && !r.watches() && strings.HasSuffix(r.path, "/"+resource+"/"+o2.GetName())
			}))
		}
	}

	// Contract: GUARD-1.
	It("holds each delete to the UID and the version that were decided on", func() {
		_, c, all, o := series()
		o.later(4 * time.Hour)
		wake(c)
		Eventually(w.names).Should(ConsistOf(all[2].Name))
		sent := o.network.seen(func(r request) bool { return r.method == "DELETE" })
		Expect(sent).To(HaveLen(2))
		for _, r := range sent {
			var options metav1.DeleteOptions
			Expect(json.Unmarshal([]byte(r.body), &options)).To(Succeed(), r.body)
			Expect(options.Preconditions).NotTo(BeNil())
			for _, v := range all[:2] {
				if strings.HasSuffix(r.path, "/"+v.Name) {
					Expect(options.Preconditions.UID).To(HaveValue(Equal(v.UID)))
					Expect(options.Preconditions.ResourceVersion).To(HaveValue(Equal(v.ResourceVersion)))
				}
			}
		}
	})

	// Contract: GUARD-1.
	It("deletes nothing that was changed behind the cache's back", func() {
		_, c, all, o := series()
		o.network.freeze("volumesnapshots")
		annotate(all[0], v1alpha1.AnnotationHold, "")
		o.later(4 * time.Hour)
		wake(c)
		Eventually(func() bool { return gone(all[1])() }).Should(BeTrue())
		Eventually(func() int { return deletes(o) }).Should(BeNumerically(">=", 2))
		Expect(gone(all[0])()).To(BeFalse(), "the precondition failed")
		o.network.thaw("volumesnapshots")
		Eventually(w.names).Should(ConsistOf(names(all[0], all[2])))
	})

	// Contract: GUARD-4.
	It("reads the floor live: it is not what the cache says", func() {
		_, c, all, o := series()
		o.network.freeze("volumesnapshots")
		setStatus(all[2], snapshotv1.VolumeSnapshotStatus{CreationTime: ptr.To(metav1.Now()), ReadyToUse: ptr.To(false)})
		o.later(4 * time.Hour)
		wake(c)
		Eventually(gets(o, all[2], "volumesnapshots")).Should(BeNumerically(">", 0))
		Eventually(gets(o, all[2], "volumesnapshots")).Should(BeNumerically(">", 1), "it looks again")
		Expect(deletes(o)).To(BeZero())
		o.network.thaw("volumesnapshots")
		Eventually(w.names).Should(ConsistOf(names(all[1], all[2])))
	})

	// Contract: GUARD-4.
	It("reads the floor live: it may be gone", func() {
		_, c, all, o := series()
		o.network.freeze("volumesnapshots")
		Expect(api.Delete(ctx, all[2])).To(Succeed())
		o.later(4 * time.Hour)
		wake(c)
		Eventually(gets(o, all[2], "volumesnapshots")).Should(BeNumerically(">", 1))
		Expect(deletes(o)).To(BeZero())
		o.network.thaw("volumesnapshots")
		Eventually(w.names).Should(ConsistOf(names(all[1])))
	})

	// Contract: GUARD-5.
	It("reads the PVC live: one that the cache has lost may be there", func() {
		_, c, all, o := series(func(s *spec) { s.SnapshotTTL = "30d"; s.Retention.Detached.SnapshotTTL = "1h" }, selecting("app", "shop"))
		label(c, "app", "other")
		o.later(30 * time.Minute)
		wake(c)
		o.network.freeze("persistentvolumeclaims")
		label(c, "app", "shop")
		o.later(4 * time.Hour)
		annotate(all[0], "wake", "up")
		Eventually(gets(o, c, "persistentvolumeclaims")).Should(BeNumerically(">", 1))
		Expect(deletes(o)).To(BeZero())
		o.network.thaw("persistentvolumeclaims")
		Consistently(w.names, "300ms").Should(ConsistOf(names(all...)))
	})

	// Contract: GUARD-3.
	DescribeTable("reads the schedule live: it may have been edited",
		func(edited string, stay int) {
			s, c, all, o := series()
			o.network.freeze("snapshotschedules")
			Expect(api.Patch(ctx, s, patch(edited))).To(Succeed())
			o.later(4 * time.Hour)
			wake(c)
			Eventually(gets(o, s, "snapshotschedules")).Should(BeNumerically(">", 0))
			wake(c)
			Consistently(func() int { return deletes(o) }, "1500ms").Should(BeZero())
			o.network.thaw("snapshotschedules")
			Eventually(func() int64 { return status(s).ObservedGeneration }).Should(BeEquivalentTo(2))
			Eventually(w.names).Should(ConsistOf(names(all[3-stay:]...)))
			Expect(deletes(o)).To(Equal(3 - stay))
		},
		// Contract: GUARD-3.
		Entry("so that all stays", `{"spec":{"snapshotTTL":"30d"}}`, 3),
		// Contract: GUARD-3.
		Entry("even if the same may go", `{"spec":{"snapshotTTL":"90m"}}`, 1),
	)

	// Contract: GUARD-3.
	It("reads the schedule live: it may be another one by now", func() {
		s, c, all, o := series()
		o.network.freeze("snapshotschedules")
		Expect(api.Delete(ctx, s, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		Expect(api.Patch(ctx, s, patch(`{"metadata":{"finalizers":null}}`))).To(Succeed()) // the garbage collector's part
		w.schedule("backup", suspended, ttl("30d"))
		o.later(4 * time.Hour)
		wake(c)
		Eventually(gets(o, s, "snapshotschedules")).Should(BeNumerically(">", 0))
		wake(c)
		Consistently(func() int { return deletes(o) }, "1500ms").Should(BeZero())
		Expect(w.names()).To(ConsistOf(names(all...)))
	})

	// Contract: GUARD-8.
	It("deletes nothing while the schedule is being deleted", func() {
		s := w.schedule("backup", suspended, ttl("1h"))
		other := w.schedule("other", suspended, ttl("1h"))
		c := w.claim("data")
		a, b := w.past(s, c, 3*time.Hour), w.past(s, c, 2*time.Hour)
		own := func(v *snapshot) { v.Name += "-other" }
		w.past(other, c, 3*time.Hour, own)
		last := w.past(other, c, 2*time.Hour, own)
		Expect(api.Patch(ctx, s, patch(`{"metadata":{"finalizers":["test/hold"]}}`))).To(Succeed())
		Expect(api.Delete(ctx, s)).To(Succeed())
		w.start(at(4 * time.Hour))
		Eventually(w.names).Should(ConsistOf(a.Name, b.Name, last.Name))
		Consistently(w.names, "300ms").Should(ConsistOf(a.Name, b.Name, last.Name))
		Expect(api.Patch(ctx, s, patch(`{"metadata":{"finalizers":null}}`))).To(Succeed())
	})

	// Contract: GUARD-7.
	It("pauses while the clocks differ, says so, and goes on by itself", func() {
		s := w.schedule("backup", suspended, ttl("1h"))
		c := w.claim("data")
		w.past(s, c, 3*time.Hour)
		a := w.past(s, c, 2*time.Hour)
		o := w.start(machineAhead(4 * time.Hour))
		Eventually(paused(s)).Should(Equal("True ClockSkew"))
		Eventually(w.events).Should(ConsistOf(HavePrefix("Warning RetentionPaused SnapshotSchedule/backup: ")))
		Expect(deletes(o)).To(BeZero())
		Expect(ready(s)()).To(Equal("True Suspended"))

		o.network.ahead.Store(int64(4 * time.Hour))
		Eventually(paused(s)).Should(Equal("False RetentionRunning"))
		Eventually(w.names).Should(ConsistOf(a.Name))
	})

	// Contract: GUARD-7.
	It("does not pause for a difference that is allowed", func() {
		s := w.schedule("backup", suspended, ttl("1h"))
		c := w.claim("data")
		w.past(s, c, 3*time.Hour)
		a := w.past(s, c, 2*time.Hour)
		o := w.start(machineAhead(4 * time.Hour))
		o.network.ahead.Store(int64(4*time.Hour - 50*time.Second))
		Eventually(w.names).Should(ConsistOf(a.Name))
	})

	// Contract: GUARD-7.
	It("takes snapshots while it pauses", func() {
		s := w.schedule("backup", ttl("1h"))
		c := w.claim("data")
		w.past(s, c, 3*time.Hour)
		w.past(s, c, 2*time.Hour)
		w.start(machineAhead(4 * time.Hour))
		Eventually(paused(s)).Should(Equal("True ClockSkew"))
		Eventually(func() int { return len(w.of("data")) }).Should(Equal(3))
	})

	// Contract: GUARD-8.
	It("deletes nothing before the cache has synced", func() {
		s := w.schedule("backup", suspended, ttl("1h"))
		c := w.claim("data")
		w.past(s, c, 3*time.Hour)
		a := w.past(s, c, 2*time.Hour)
		var open atomic.Bool
		o := w.start(at(4*time.Hour), refusing(func(r *http.Request) int {
			if !open.Load() && strings.HasSuffix(r.URL.Path, "/persistentvolumeclaims") {
				return http.StatusServiceUnavailable // without the PVCs, all are gone
			}
			return 0
		}))
		Eventually(func() int { return o.network.of("GET", "persistentvolumeclaims") }).Should(BeNumerically(">", 1))
		Expect(deletes(o)).To(BeZero())
		Expect(w.snapshots()).To(HaveLen(2))
		open.Store(true)
		Eventually(w.names).Should(ConsistOf(a.Name))
	})

	// Contract: API-4, API-5.
	DescribeTable("creates and deletes nothing under a spec that only the controller can see to be invalid, until it is mended",
		func(broken, mended string, says string) {
			s := w.schedule("backup", ttl("1h"), selecting("app", "shop"))
			c := w.claim("data", "app", "shop")
			a, b := w.past(s, c, 3*time.Hour), w.past(s, c, 2*time.Hour)
			Expect(api.Patch(ctx, s, patch(broken))).To(Succeed())
			w.schedule("fine", selecting("app", "fine"))
			o := w.start(at(4 * time.Hour))
			Eventually(ready(s)).Should(Equal("False InvalidSpec"))
			Expect(message(s)).To(ContainSubstring(says))
			Expect(status(s).NextSnapshotTime).To(BeNil())
			w.marker("app", "fine") // another schedule is not affected
			Expect(w.of("data")).To(HaveLen(2))
			Expect(deletes(o)).To(BeZero())

			Expect(api.Patch(ctx, s, patch(mended))).To(Succeed())
			Eventually(ready(s)).ShouldNot(Equal("False InvalidSpec"))
			Eventually(gone(a)).Should(BeTrue())
			Expect(gone(b)()).To(BeFalse(), "the floor")
		},
		// Contract: API-4.
		Entry("an unknown zone", `{"spec":{"snapshotInterval":null,"schedule":"@daily","timeZone":"Europe/Osloo"}}`,
			`{"spec":{"timeZone":"Europe/Oslo"}}`, "Europe/Osloo"),
		// Contract: API-4.
		Entry("30 February", `{"spec":{"snapshotInterval":null,"schedule":"0 0 30 2 *"}}`,
			`{"spec":{"schedule":"0 0 28 2 *"}}`, "never fires"),
		// Contract: API-4.
		Entry("a jitter not shorter than the interval", `{"spec":{"jitter":"1h"}}`, `{"spec":{"jitter":"59m"}}`, "spec.jitter"),
	)
})
