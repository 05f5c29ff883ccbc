// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// covered is the output of coverage.
type covered struct {
	PersistentVolumeClaims []struct{ Name, Protection, Reason string }
}

func (c covered) protection() map[string]string {
	found := map[string]string{}
	for _, claim := range c.PersistentVolumeClaims {
		found[claim.Name] = claim.Protection
	}
	return found
}

var _ = Describe("the commands of the kubectl plugin that answer", Ordered, func() {
	BeforeAll(func(ctx context.Context) {
		buildPlugin(ctx)
		cluster.Start(ctx)
	}, NodeTimeout(3*time.Minute))

	// class creates a StorageClass of the mock driver.
	class := func(ctx context.Context, name string, binding storagev1.VolumeBindingMode) {
		GinkgoHelper()
		c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: mockDriver, VolumeBindingMode: &binding}
		Expect(cluster.Client.Create(ctx, c)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(cluster.Client.Delete(ctx, c)).To(Succeed()) })
	}

	It("coverage, status and the operator agree about PVCs of every kind", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "kinds")
		other, late := namespace+"-other", namespace+"-late"
		class(ctx, other, storagev1.VolumeBindingImmediate)
		class(ctx, late, storagev1.VolumeBindingWaitForFirstConsumer)
		edits := map[string]func(*corev1.PersistentVolumeClaim){
			"bound":       func(*corev1.PersistentVolumeClaim) {},
			"block":       func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock) },
			"waits":       func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &late },
			"other-class": func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &other },
			"excluded": func(c *corev1.PersistentVolumeClaim) {
				c.Annotations = map[string]string{v1alpha1.AnnotationExclude: ""}
			},
			"nfs":     func(*corev1.PersistentVolumeClaim) {},
			"in-tree": func(*corev1.PersistentVolumeClaim) {},
			"by-hand": func(*corev1.PersistentVolumeClaim) {},
		}
		for name, edit := range edits {
			claim := builders.Claim(namespace, name, nil)
			edit(claim)
			Expect(cluster.Client.Create(ctx, claim)).To(Succeed())
		}
		Eventually(func(g Gomega) {
			all := &corev1.PersistentVolumeClaimList{}
			g.Expect(cluster.Client.List(ctx, all, client.InNamespace(namespace))).To(Succeed())
			for _, claim := range all.Items {
				want := corev1.ClaimBound
				if claim.Name == "waits" {
					want = corev1.ClaimPending
				}
				g.Expect(claim.Status.Phase).To(Equal(want), claim.Name)
			}
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
		provisionedBy(ctx, namespace, "nfs", `"nfs.example.com"`)
		provisionedBy(ctx, namespace, "in-tree", `"kubernetes.io/azure-file"`)
		provisionedBy(ctx, namespace, "by-hand", "null")
		schedule := cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h", StorageClassNames: []v1alpha1.StorageClassName{"mock", v1alpha1.StorageClassName(late)},
		})

		By("coverage")
		want := map[string]string{
			"bound": "Protected", "block": "Protected", "by-hand": "Protected",
			"waits": "Skipped", "nfs": "Skipped", "in-tree": "Skipped",
			"excluded": "Excluded", "other-class": "Unprotected",
		}
		var found covered
		Eventually(func() map[string]string {
			found = snapschedJSON[covered](ctx, namespace, "coverage")
			return found.protection()
		}).WithContext(ctx).Should(Equal(want))
		reasons := map[string]string{
			"waits": "not Bound", "nfs": "nfs.example.com", "in-tree": "kubernetes.io/azure-file", "excluded": "exclude",
			"other-class": "no schedule selects it",
		}
		for _, claim := range found.PersistentVolumeClaims {
			Expect(claim.Reason).To(ContainSubstring(reasons[claim.Name]), claim.Name)
		}
		out, _, code := runPlugin(ctx, namespace, "coverage", "--fail-on-gaps")
		Expect(code).To(Equal(1))
		Expect(out).To(ContainSubstring("1 of 8 PVCs not protected."))

		By("what the operator did")
		var taken []string
		for _, v := range eventuallySnapshots(ctx, namespace, 3) {
			taken = append(taken, *v.Spec.Source.PersistentVolumeClaimName)
		}
		Expect(taken).To(ConsistOf("bound", "block", "by-hand"))
		Eventually(fresh(ctx, schedule)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.Inputs.PersistentVolumeClaims", v1alpha1.InputCount{Total: 6, Skipped: 3})))

		By("status and timeline")
		status := snapsched(ctx, namespace, "status")
		timeline := snapsched(ctx, namespace, "timeline", "nightly")
		for name := range want {
			line := MatchRegexp(`(?m)^ *` + name + ` `)
			if selected := name != "excluded" && name != "other-class"; selected {
				Expect(status).To(line)
				Expect(timeline).To(line)
			} else {
				Expect(status).NotTo(line)
				Expect(timeline).NotTo(line)
			}
		}

		By("a second schedule for the rest")
		rest := builders.Schedule(namespace, "rest", v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h", StorageClassNames: []v1alpha1.StorageClassName{v1alpha1.StorageClassName(other)}})
		Expect(cluster.Client.Create(ctx, rest)).To(Succeed())
		eventuallySnapshots(ctx, namespace, 4)
		Expect(snapsched(ctx, namespace, "coverage", "--fail-on-gaps")).To(ContainSubstring("No gaps in 8 PVCs."))
	}, NodeTimeout(3*time.Minute))

	// The garbage collector follows every owner reference, and deletes what has no other owner.
	It("preview --delete names the snapshots that the garbage collector deletes with the schedule", func(ctx context.Context) {
		namespace := cluster.Namespace(ctx, "collected")
		cluster.BoundClaims(ctx, namespace, 2)
		s := cluster.Schedule(ctx, namespace, hourly)
		eventuallySnapshots(ctx, namespace, 2)
		keeper := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "keeper"}}
		Expect(cluster.Client.Create(ctx, keeper)).To(Succeed())
		mine := metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "SnapshotSchedule", Name: s.Name, UID: s.UID}
		other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: keeper.Name, UID: keeper.UID}
		made := map[string][]metav1.OwnerReference{
			"plain": {mine}, "twice": {mine, mine}, "shared": {mine, other}, "theirs": {other}, "nobodys": nil,
		}
		for name, owners := range made {
			v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners}}
			v.Spec.Source.PersistentVolumeClaimName = ptr.To("data-0")
			Expect(cluster.Client.Create(ctx, v)).To(Succeed())
		}
		all := cluster.Snapshots(ctx, namespace)
		taken := &all[slices.IndexFunc(all, func(v snapshotv1.VolumeSnapshot) bool { return *v.Spec.Source.PersistentVolumeClaimName == "data-1" })]
		shared := taken.DeepCopy()
		merge(ctx, shared, `{"metadata":{"ownerReferences":[{"apiVersion":%q,"kind":"SnapshotSchedule","name":%q,"uid":%q,"controller":true},`+
			`{"apiVersion":"v1","kind":"ConfigMap","name":"keeper","uid":%q}]}}`, v1alpha1.GroupVersion, s.Name, s.UID, keeper.UID)

		before := names(cluster.Snapshots(ctx, namespace))
		Expect(before).To(HaveLen(2 + len(made)))
		var predicted []string
		for _, d := range snapschedJSON[struct {
			Items []struct{ Deletes []struct{ Name string } }
		}](ctx, namespace, "preview", "--delete", s.Name).Items[0].Deletes {
			predicted = append(predicted, d.Name)
		}
		kubectl("delete", "snapsched", s.Name, "-n", namespace)
		// It is done with those that stay once they have lost the reference.
		Eventually(func(g Gomega) {
			left := cluster.Snapshots(ctx, namespace)
			for i := range left {
				g.Expect(left[i].OwnerReferences).NotTo(ContainElement(HaveField("UID", s.UID)), left[i].Name)
			}
			remaining := slices.DeleteFunc(slices.Clone(before), func(name string) bool { return slices.Contains(predicted, name) })
			g.Expect(names(left)).To(ConsistOf(remaining))
			g.Expect(remaining).To(ConsistOf("shared", "theirs", "nobodys", shared.Name))
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
	}, NodeTimeout(3*time.Minute))

	DescribeTable("why names the rule and the time by which the operator then deletes a snapshot",
		func(ctx context.Context, spec v1alpha1.SnapshotScheduleSpec, reason string) {
			namespace, history := cluster.Recorded(ctx, "why", 1)
			spec.SnapshotInterval = "4s"
			cluster.Schedule(ctx, namespace, spec)
			Eventually(func() int { return len(history.All()) }).WithContext(ctx).Should(BeNumerically(">=", 2))
			asked := history.All()[1].First
			Eventually(harness.Fresh(ctx, cluster, asked)).WithContext(ctx).Should(Satisfy(harness.Ready))

			why := snapschedJSON[struct {
				Verdicts []struct {
					Time    metav1.Time
					Verdict string
					Delete  bool
				}
			}](ctx, namespace, "why", asked.Name)
			Expect(len(why.Verdicts)).To(BeNumerically(">=", 2))
			Expect(why.Verdicts[0].Delete).To(BeFalse())
			last := why.Verdicts[len(why.Verdicts)-1]
			Expect(last.Delete).To(BeTrue())
			Expect(last.Verdict).To(Equal(reason))

			Eventually(func() bool { return history.All()[1].Deleted }).WithContext(ctx).WithTimeout(time.Minute).Should(BeTrue())
			at := history.All()[1].Last.DeletionTimestamp
			Expect(at).NotTo(BeNil())
			Expect(at.Sub(last.Time.Time)).To(And(BeNumerically(">=", 0), BeNumerically("<", 10*time.Second)),
				"predicted for %s, deleted at %s", last.Time, at)
		},
		Entry("age", v1alpha1.SnapshotScheduleSpec{SnapshotTTL: "14s"}, "Expired"),
		Entry("number", v1alpha1.SnapshotScheduleSpec{Retention: v1alpha1.Retention{MaxCount: ptr.To[int32](3)}}, "OverCap"),
	)
})
