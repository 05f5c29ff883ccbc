// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// family is a schedule over the PVC data-0, on storage that behaves like that of a family of drivers. The error texts are the drivers'.
type family struct {
	namespace string
	schedule  *v1alpha1.SnapshotSchedule
	history   *History
}

func (f family) storage() local.Account { return cluster.Storage().Accounts[f.namespace] }

// expect waits until the schedule matches.
func (f family) expect(ctx context.Context, matchers ...OmegaMatcher) {
	GinkgoHelper()
	Eventually(fresh(ctx, f.schedule)).WithContext(ctx).WithTimeout(time.Minute).Should(And(matchers...))
}

// works waits until the schedule is ready and protected.
func (f family) works(ctx context.Context) {
	GinkgoHelper()
	f.expect(ctx, beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled), beProtected(metav1.ConditionTrue))
}

// refuses waits until the schedule shows that it does not work, with the driver's words.
func (f family) refuses(ctx context.Context, text string) {
	GinkgoHelper()
	f.expect(ctx, beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing), beProtected(metav1.ConditionFalse),
		haveProblem(v1alpha1.ReasonSnapshotError, text))
}

// fills returns the check of a volume that is full: a snapshot of the next slot is taken once there is room again.
func fills(limit int, text string) func(context.Context, family) {
	return func(ctx context.Context, f family) {
		f.refuses(ctx, text)
		taken := func() []Snapshot {
			return slices.DeleteFunc(f.history.All(), func(s Snapshot) bool { return !ready(s.Last) || s.Last.DeletionTimestamp != nil })
		}
		Eventually(taken).WithContext(ctx).Should(HaveLen(limit)) // one that took longer than readyDeadline was deleted first
		before := taken()
		Expect(cluster.Client.Delete(ctx, before[0].Last)).To(Succeed())
		Eventually(func() time.Time {
			requeueDeleted(ctx, f.namespace)
			return taken()[len(taken())-1].Slot()
		}).WithContext(ctx).WithPolling(time.Second).WithTimeout(time.Minute).Should(BeTemporally(">", before[limit-1].Slot()))
		Expect(cluster.Storage().Volumes[f.namespace+"/data-0"].MostSnapshots).To(Equal(limit))
		f.history.ExpectInOrder()
	}
}

// expires checks that snapshots are deleted at the end of their TTL and not before.
func expires(ttl time.Duration) func(context.Context, family) {
	return func(ctx context.Context, f family) {
		deleted := func() []Snapshot {
			return slices.DeleteFunc(f.history.All(), func(s Snapshot) bool { return s.Last.DeletionTimestamp == nil })
		}
		Eventually(func() int { return len(deleted()) }).WithContext(ctx).WithTimeout(time.Minute).Should(BeNumerically(">=", 2))
		for _, s := range deleted() {
			Expect(s.Age()).To(BeNumerically(">=", ttl), s.First.Name)
		}
		f.works(ctx)
	}
}

// sticks checks that the deletes that the storage refuses are visible and bounded, and that they end when it accepts them.
func sticks(ctx context.Context, f family) {
	terminating := func() (n int) {
		for _, v := range cluster.Snapshots(ctx, f.namespace) {
			if v.DeletionTimestamp != nil {
				n++
			}
		}
		return n
	}
	f.works(ctx)
	Eventually(fresh(ctx, f.schedule)).WithContext(ctx).WithTimeout(3 * time.Minute).Should(And(
		beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonRetentionFailing), beProtected(metav1.ConditionTrue),
		haveProblem(v1alpha1.ReasonDeletionStuck, "(and 9 more)"),
		haveProblem(v1alpha1.ReasonDeletionStuck, f.history.All()[0].First.Name)))
	Consistently(terminating).WithContext(ctx).WithTimeout(10 * time.Second).WithPolling(time.Second).Should(Equal(10))
	merge(ctx, f.schedule, `{"spec":{"suspend":true}}`)
	f.expect(ctx, WithTransform(func(s *v1alpha1.SnapshotSchedule) v1alpha1.OutputCount {
		return s.Status.Outputs.VolumeSnapshots
	}, And(HaveField("Terminating", BeEquivalentTo(10)), HaveField("Ready", BeNumerically(">", 10)),
		WithTransform(func(c v1alpha1.OutputCount) int32 { return c.Total - c.Ready }, BeEquivalentTo(10)))))
	cluster.Behave(f.namespace, local.Behavior{})
	Eventually(func() local.Account {
		requeueDeleted(ctx, f.namespace)
		return f.storage()
	}).WithContext(ctx).WithPolling(time.Second).WithTimeout(2 * time.Minute).Should(HaveField("Snapshots", 1))
	f.expect(ctx, beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonSuspended), HaveField("Status.Problems", BeEmpty()),
		HaveField("Status.Outputs.VolumeSnapshots", v1alpha1.OutputCount{Total: 1, Ready: 1}))
}

var _ = Describe("a schedule on storage", func() {
	full := func(limit int, code, message string) local.Behavior {
		return local.Behavior{Refusals: []local.Refusal{{Call: "CreateSnapshot", Snapshots: limit, Code: code, Message: message}}}
	}
	const (
		vSphere    = "the number of snapshots on the source volume 1f63 reaches the configured maximum (3)"
		ceph       = "rbd image csi-vol-1f63 has 2 snapshots"
		powerStore = "unable to delete volume 1f63 -- 1 snapshots based on this volume still exist."
	)
	everyThree := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "3s", ReadyDeadline: "2s"}

	// Contract: ONE-1, ONE-2, ONE-3, ONE-4, STAT-15, PROT-1, PROT-2.
	DescribeTable("like that of", func(ctx context.Context, b local.Behavior, spec v1alpha1.SnapshotScheduleSpec, check func(context.Context, family)) {
		namespace, history := cluster.Recorded(ctx, "storage", 1)
		cluster.Behave(namespace, b)
		cluster.Start(ctx)
		check(ctx, family{namespace, cluster.Schedule(ctx, namespace, spec), history})
	},
		Entry("EBS, which uploads for hours: takes no other snapshot meanwhile, and is protected when it is done",
			local.Behavior{Upload: "1h", Refusals: []local.Refusal{{
				Call: "CreateSnapshot", Pending: 1, Code: "INTERNAL", Message: "Could not create snapshot: ConcurrentSnapshotLimitExceeded",
			}}}, everyThree, func(ctx context.Context, f family) {
				f.expect(ctx, haveProblem(v1alpha1.ReasonSnapshotSlow, ""), beProtected(metav1.ConditionFalse))
				Expect(f.history.All()).To(ConsistOf(HaveField("Last.Status", And(
					HaveField("CreationTime", Not(BeNil())), HaveField("ReadyToUse", HaveValue(BeFalse())), HaveField("Error", BeNil())))))
				cluster.Behave(f.namespace, local.Behavior{Upload: "1s"})
				f.works(ctx)
				Expect(f.storage()).To(And(HaveField("MostPending", 1), HaveField("Refusals", 0)))
			}),
		Entry("vSphere, with room for 3: shows the refusal, and tries again at the next slot",
			full(3, "FAILED_PRECONDITION", vSphere), everyThree, fills(3, vSphere)),
		Entry("Ceph, which cannot delete what it refused: shows the refusal, and tries again once that is gone",
			full(2, "RESOURCE_EXHAUSTED", ceph), everyThree, fills(2, ceph)),
		Entry("vSphere, for a new user: shows the refusal within three minutes, whatever readyDeadline",
			full(0, "FAILED_PRECONDITION", vSphere), hourly, func(ctx context.Context, f family) {
				Eventually(fresh(ctx, f.schedule)).WithContext(ctx).WithTimeout(3 * time.Minute).Should(And(
					beReadyWith(metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing), beProtected(metav1.ConditionUnknown),
					haveProblem(v1alpha1.ReasonSnapshotError, vSphere)))
			}),
		Entry("GCE, which wants some time between snapshots: has the same snapshot when the time has passed",
			local.Behavior{Refusals: []local.Refusal{{
				Call: "CreateSnapshot", Spacing: "10m", Code: "INTERNAL", Message: "Operation rate exceeded for resource",
			}}}, hourly, func(ctx context.Context, f family) {
				f.works(ctx)
				request(ctx, f.schedule)
				Eventually(f.storage).WithContext(ctx).Should(HaveField("Refusals", BeNumerically(">", 0)))
				cluster.Behave(f.namespace, local.Behavior{})
				eventuallySnapshots(ctx, f.namespace, 2)
				f.works(ctx)
				Expect(f.history.All()).To(HaveLen(2))
			}),
		Entry("Longhorn, whose backup target is not available for a while: has the same snapshot a little later",
			local.Behavior{Delay: "200ms", Refusals: []local.Refusal{{
				Call: "CreateSnapshot", Times: 2, Code: "ABORTED", Message: "backup target default is not available",
			}}}, hourly, func(ctx context.Context, f family) {
				f.works(ctx)
				Expect(f.storage().Refusals).To(Equal(2))
				Expect(f.history.All()).To(HaveLen(1))
			}),
		Entry("a cloud where an upload fails: shows why, and takes the next snapshot nevertheless",
			local.Behavior{Upload: "1h", Refusals: []local.Refusal{{Call: "Upload", Code: "INTERNAL", Message: "the upload failed"}}},
			everyThree, func(ctx context.Context, f family) {
				f.refuses(ctx, "the upload failed")
				Eventually(f.history.Count).WithContext(ctx).Should(BeNumerically(">", 1))
				cluster.Behave(f.namespace, local.Behavior{})
				f.works(ctx)
			}),
		Entry("PowerStore, which deletes no volume with snapshots: the volume goes with the last snapshot of the PVC",
			local.Behavior{Refusals: []local.Refusal{{Call: "DeleteVolume", Snapshots: 1, Code: "FAILED_PRECONDITION", Message: powerStore}}},
			hourly, func(ctx context.Context, f family) {
				f.works(ctx)
				claim := get(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "data-0"}})
				volume := get(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}})
				Expect(cluster.Client.Delete(ctx, claim)).To(Succeed())
				f.expect(ctx, HaveField("Status.Detached", HaveValue(Equal(v1alpha1.Detached{MapKeys: 1, VolumeSnapshots: 1}))))
				Eventually(func() []corev1.Event {
					events := &corev1.EventList{}
					Expect(cluster.Client.List(ctx, events, client.MatchingFields{"involvedObject.name": volume.Name})).To(Succeed())
					return events.Items
				}).WithContext(ctx).Should(ContainElement(HaveField("Message", ContainSubstring(powerStore))))
				Expect(get(ctx, volume).Status.Phase).To(BeElementOf(corev1.VolumeReleased, corev1.VolumeFailed))
				merge(ctx, f.schedule, `{"spec":{"snapshotTTL":"1s"}}`)
				eventuallyGone(ctx, volume)
				Expect(f.storage().Snapshots).To(BeZero())
			}),
		Entry("Azure, with creation times of the past: deletes nothing early",
			local.Behavior{ClockSkew: "-490000h"}, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "3s", SnapshotTTL: "8s"}, expires(8*time.Second)),
		Entry("an array with creation times of the future: deletes nothing early, and all in time",
			local.Behavior{ClockSkew: "87600h"}, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "3s", SnapshotTTL: "8s"}, expires(8*time.Second)),
		// Contract: RET-14, RET-15, RET-16.
		Entry("ZFS with clones, which deletes no snapshot: says so, keeps the rest, and deletes them when they have no clones",
			local.Behavior{Refusals: []local.Refusal{{Call: "DeleteSnapshot", Code: "FAILED_PRECONDITION", Message: "snapshot has dependent clones"}}},
			v1alpha1.SnapshotScheduleSpec{
				SnapshotInterval: "3s", ReadyDeadline: "1m", Retention: v1alpha1.Retention{MaxCount: ptr.To[int32](1)},
			}, sticks),
	)

	It("without snapshots, such as NFS without a class: skips the PVC, nothing fails, and nothing is protected", func(ctx context.Context) {
		namespace, history := cluster.Recorded(ctx, "nfs", 1)
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data-0"}}
		merge(ctx, claim, `{"metadata":{"annotations":{"volume.kubernetes.io/storage-provisioner":"nfs.csi.k8s.io"}}}`)
		cluster.Start(ctx)
		f := family{namespace, cluster.Schedule(ctx, namespace, everyThree), history}
		f.expect(ctx, beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled), beProtected(metav1.ConditionFalse),
			HaveField("Status.Inputs", HaveField("PersistentVolumeClaims", v1alpha1.InputCount{Total: 1, Skipped: 1})),
			HaveField("Status.Conditions", ContainElement(HaveField("Message", ContainSubstring(v1alpha1.ReasonNotSnapshottable)))))
		Expect(history.All()).To(BeEmpty())
	})
})
