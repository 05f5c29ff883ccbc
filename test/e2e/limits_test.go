// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// limit makes a class say what the storage of the local driver can take, until the end of the spec. No schedule uses the class: what
// one class says is a fact of the driver.
func (c *Cluster) limit(ctx context.Context, annotation, value string) string {
	GinkgoHelper()
	class := create(ctx, &snapshotv1.VolumeSnapshotClass{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "limited-", Annotations: map[string]string{annotation: value}},
		Driver:     mockDriver, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
	})
	return class.Name
}

// served waits until each of n PVCs of some namespaces has a ready snapshot.
func served(ctx context.Context, n int, within time.Duration, namespaces ...string) {
	GinkgoHelper()
	Eventually(func() (missing string) {
		for _, namespace := range namespaces {
			done := map[string]bool{}
			for _, v := range cluster.Snapshots(ctx, namespace) {
				if ready(&v) {
					done[*v.Spec.Source.PersistentVolumeClaimName] = true
				}
			}
			if len(done) < n {
				missing += fmt.Sprintf("%s has %d of %d; ", namespace, len(done), n)
			}
		}
		return missing
	}).WithContext(ctx).WithTimeout(within).WithPolling(time.Second).Should(BeEmpty())
}

var _ = Describe("a storage that can take little", func() {
	// Contract: LIMIT-1, LIMIT-2.
	It("never has more pending uploads than it may, of two namespaces at once, and serves all PVCs", func(ctx context.Context) {
		const claims, places = 15, 4
		cluster.limit(ctx, v1alpha1.AnnotationMaxPending, fmt.Sprint(places))
		cluster.Behave("uploads", local.Behavior{Upload: "1s"})
		var namespaces []string
		for range 2 {
			namespace := cluster.Namespace(ctx, "uploads")
			cluster.BoundClaims(ctx, namespace, claims)
			namespaces = append(namespaces, namespace)
		}
		cluster.Start(ctx)
		for _, namespace := range namespaces {
			cluster.Schedule(ctx, namespace, hourly)
		}
		served(ctx, claims, 2*time.Minute, namespaces...)
		storage := cluster.Storage().Accounts["uploads"]
		GinkgoWriter.Printf("the storage had at most %d pending\n", storage.MostPending)
		Expect(storage.MostPending).To(And(BeNumerically(">", 1), BeNumerically("<=", places)))
	}, NodeTimeout(4*time.Minute))

	// Contract: LIMIT-3, LIMIT-5.
	It("is never asked for a fourth snapshot of a volume by two schedules, and one that keeps too many is told beforehand", func(ctx context.Context) {
		cluster.limit(ctx, v1alpha1.AnnotationMaxPerVolume, "3")
		namespace, history := cluster.Recorded(ctx, "places", 1)
		cluster.Behave(namespace, local.Behavior{Refusals: []local.Refusal{{
			Call: "CreateSnapshot", Snapshots: 3, Code: "FAILED_PRECONDITION", Message: "reaches the configured maximum (3)",
		}}})
		cluster.Start(ctx)
		keepsOne := func(interval v1alpha1.Duration) v1alpha1.SnapshotScheduleSpec {
			return v1alpha1.SnapshotScheduleSpec{SnapshotInterval: interval, Retention: v1alpha1.Retention{MaxCount: ptr.To[int32](1)}}
		}
		nightly := cluster.Schedule(ctx, namespace, keepsOne("3s"))
		other := builders.Schedule(namespace, "other", keepsOne("4s"))
		Expect(cluster.Client.Create(ctx, other)).To(Succeed())
		Eventually(history.Count).WithContext(ctx).WithTimeout(2 * time.Minute).Should(BeNumerically(">=", 12))
		Expect(cluster.Storage().Accounts[namespace].Refusals).To(BeZero())
		Expect(cluster.Storage().Volumes[namespace+"/data-0"].MostSnapshots).To(BeNumerically("<=", 3))

		merge(ctx, nightly, `{"spec":{"suspend":true,"retention":{"maxCount":3}}}`)
		Eventually(fresh(ctx, nightly)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonSuspended),
			haveProblem(v1alpha1.ReasonVolumeLimit, "keeps up to 3 snapshots per PVC and needs a place for the next")))
	}, NodeTimeout(4*time.Minute))

	// Contract: LIMIT-3, STAT-15.
	It("shows its refusal where somebody else's snapshots take the places, and is asked again at the next slot", func(ctx context.Context) {
		cluster.limit(ctx, v1alpha1.AnnotationMaxPerVolume, "3")
		const words = "the number of snapshots on the source volume 1f63 reaches the configured maximum (3)"
		namespace := cluster.Namespace(ctx, "foreign")
		cluster.BoundClaims(ctx, namespace, 1)
		cluster.Behave(namespace, local.Behavior{Refusals: []local.Refusal{{
			Call: "CreateSnapshot", Snapshots: 3, Code: "FAILED_PRECONDITION", Message: words,
		}}})
		var foreign *snapshotv1.VolumeSnapshot
		for i := range 2 {
			foreign = create(ctx, &snapshotv1.VolumeSnapshot{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("by-hand-%d", i)},
				Spec:       snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: ptr.To("data-0")}},
			})
			Eventually(fresh(ctx, foreign)).WithContext(ctx).WithTimeout(time.Minute).Should(Satisfy(ready))
		}
		cluster.Start(ctx)
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "3s", ReadyDeadline: "2s", Retention: v1alpha1.Retention{MaxCount: ptr.To[int32](1)},
		})
		Eventually(fresh(ctx, schedule)).WithContext(ctx).WithTimeout(time.Minute).Should(And(
			beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing), haveProblem(v1alpha1.ReasonSnapshotError, words)))
		Expect(cluster.Client.Delete(ctx, foreign)).To(Succeed())
		Eventually(fresh(ctx, schedule)).WithContext(ctx).WithTimeout(2 * time.Minute).Should(beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled))
	}, NodeTimeout(4*time.Minute))

	// Contract: LIMIT-4.
	It("gets the snapshots of a PVC far enough apart, whichever schedule they are of", func(ctx context.Context) {
		const spacing = 5 * time.Second
		cluster.limit(ctx, v1alpha1.AnnotationMinSpacing, "5s")
		namespace, history := cluster.Recorded(ctx, "spacing", 1)
		cluster.Behave(namespace, local.Behavior{Refusals: []local.Refusal{{
			// A busy machine cuts a snapshot late by seconds, and the next one at once.
			Call: "CreateSnapshot", Spacing: "1s", Code: "INTERNAL", Message: "Operation rate exceeded for resource",
		}}})
		cluster.Start(ctx)
		cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "3s"})
		other := builders.Schedule(namespace, "other", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "7s"})
		Expect(cluster.Client.Create(ctx, other)).To(Succeed())
		Eventually(history.Count).WithContext(ctx).WithTimeout(2 * time.Minute).Should(BeNumerically(">=", 6))
		Expect(cluster.Storage().Accounts[namespace].Refusals).To(BeZero())
		of := map[string]int{}
		all := history.All()
		for i, s := range all {
			of[s.First.Labels[v1alpha1.LabelSchedule]]++
			if i > 0 {
				Expect(s.First.CreationTimestamp.Sub(all[i-1].First.CreationTimestamp.Time)).To(BeNumerically(">=", spacing))
			}
		}
		Expect(of).To(HaveLen(2), "both schedules have snapshots")
	}, NodeTimeout(4*time.Minute))
})
