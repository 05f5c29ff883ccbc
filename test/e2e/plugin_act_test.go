// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

var _ = Describe("the commands of the kubectl plugin that act", Ordered, func() {
	var namespace string

	claim := func(ctx context.Context, name string) *corev1.PersistentVolumeClaim {
		GinkgoHelper()
		return harness.Get(ctx, cluster, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	// of returns the snapshots of a PVC, the oldest first.
	of := func(ctx context.Context, namespace, claim string) (found []snapshotv1.VolumeSnapshot) {
		GinkgoHelper()
		for _, v := range cluster.Snapshots(ctx, namespace) { // by name, which contains the slot
			if ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "") == claim {
				found = append(found, v)
			}
		}
		return found
	}

	BeforeAll(func(ctx context.Context) {
		buildPlugin(ctx)
		cluster.Start(ctx)
		namespace = cluster.Namespace(ctx, "plugin")
		cluster.BoundClaims(ctx, namespace, 2)
		cluster.Schedule(ctx, namespace, v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h", Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
		})
		eventuallySnapshots(ctx, namespace, 2)
	}, NodeTimeout(3*time.Minute))

	It("snapshot --wait takes a snapshot of each PVC and ends when they are ready", func(ctx context.Context) {
		first := names(cluster.Snapshots(ctx, namespace))
		nextSecond(ctx)
		out := snapsched(ctx, namespace, "snapshot", "nightly", "--wait")
		all := cluster.Snapshots(ctx, namespace)
		Expect(all).To(HaveLen(4))
		for i := range all {
			Expect(harness.Ready(&all[i])).To(BeTrue(), "%s", all[i].Name)
			printed := ContainSubstring("/" + all[i].Name + " ready\n")
			if !strings.Contains(strings.Join(first, " "), all[i].Name) {
				Expect(out).To(printed)
			} else {
				Expect(out).NotTo(printed)
			}
		}

		nextSecond(ctx)
		snapsched(ctx, namespace, "snapshot", "--pvc", "data-0", "--wait")
		Expect(names(of(ctx, namespace, "data-0"))).To(HaveLen(3))
		Expect(names(of(ctx, namespace, "data-1"))).To(HaveLen(2))
	})

	It("restore --wait restores the data of a time to a new PVC", func(ctx context.Context) {
		snapshots := of(ctx, namespace, "data-0")
		source := claim(ctx, "data-0")
		// The driver's creation time may be a little later than the object's.
		between := snapshots[1].CreationTimestamp.Add(-time.Second).UTC().Format(time.RFC3339)
		out := snapsched(ctx, namespace, "restore", "--pvc", "data-0", "--as-of", between, "--to", "before", "--wait")
		Expect(out).To(Equal("persistentvolumeclaim/before created\npersistentvolumeclaim/before bound\n"))
		restored := claim(ctx, "before")
		Expect(restored.Status.Phase).To(Equal(corev1.ClaimBound))
		Expect(restored.Spec.DataSource.Name).To(Equal(snapshots[0].Name))
		Expect(restored.Spec.StorageClassName).To(Equal(source.Spec.StorageClassName))
		Expect(claim(ctx, "data-0").Spec).To(Equal(source.Spec))

		snapsched(ctx, namespace, "restore", "--pvc", "data-0", "--to", "latest", "--wait")
		Expect(claim(ctx, "latest").Spec.DataSource.Name).To(Equal(snapshots[2].Name))
	})

	It("hold keeps a snapshot beyond its TTL, unhold ends that, release keeps one beyond its schedule", func(ctx context.Context) {
		other := cluster.Namespace(ctx, "hold")
		cluster.BoundClaims(ctx, other, 2)
		cluster.Schedule(ctx, other, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", SnapshotTTL: "6s"})
		eventuallySnapshots(ctx, other, 2)
		held, expiring := of(ctx, other, "data-0")[0], of(ctx, other, "data-1")[0]
		snapsched(ctx, other, "hold", held.Name, "--reason", "e2e")
		nextSecond(ctx)
		snapsched(ctx, other, "snapshot", "nightly", "--wait")
		remaining := func() []string { return names(cluster.Snapshots(ctx, other)) }
		Eventually(remaining).WithContext(ctx).ShouldNot(ContainElement(expiring.Name), "it has expired")
		Expect(remaining()).To(And(HaveLen(3), ContainElement(held.Name)))

		snapsched(ctx, other, "unhold", held.Name)
		Eventually(remaining).WithContext(ctx).Should(And(HaveLen(2), Not(ContainElement(held.Name))))

		released := of(ctx, other, "data-0")[0]
		Expect(snapsched(ctx, other, "release", released.Name)).To(HaveSuffix(" released\n"))
		kubectl("delete", "snapsched", "nightly", "-n", other)
		Eventually(remaining).WithContext(ctx).Should(Equal([]string{released.Name}))
		Expect(harness.Get(ctx, cluster, &released).DeletionTimestamp).To(BeNil())
	})

	It("migrate hands over snapshots of snapscheduler, which the operator adopts", func(ctx context.Context) {
		text, err := os.ReadFile(filepath.Join("..", "cli", "testdata", "snapscheduler.yaml"))
		Expect(err).NotTo(HaveOccurred())
		crds := harness.Decode(text)
		cluster.Apply(ctx, crds...)
		DeferCleanup(func(ctx context.Context) { Expect(cluster.Client.Delete(ctx, crds[0])).To(Succeed()) })
		other := cluster.Namespace(ctx, "migrate")
		cluster.BoundClaims(ctx, other, 2)
		peer := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "snapscheduler.backube/v1", "kind": "SnapshotSchedule",
			"metadata": map[string]any{"namespace": other, "name": "yearly"},
			"spec":     map[string]any{"schedule": "@annually"},
		}}
		Expect(cluster.Client.Create(ctx, peer)).To(Succeed())
		for _, name := range []string{"data-0", "data-1"} {
			v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
				Namespace: other, Name: name + "-yearly-202601010000",
				Labels: map[string]string{"snapscheduler.backube/schedule": "yearly", "snapscheduler.backube/when": "202601010000"},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "snapscheduler.backube/v1", Kind: "SnapshotSchedule", Name: "yearly", UID: peer.GetUID(),
				}},
			}}
			v.Spec.Source.PersistentVolumeClaimName = &name
			Expect(cluster.Client.Create(ctx, v)).To(Succeed())
		}
		before := eventuallySnapshots(ctx, other, 2)

		snapsched(ctx, other, "migrate", "snapscheduler", "--apply")
		ours := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "yearly"}}
		Eventually(fresh(ctx, ours)).WithContext(ctx).Should(And(
			beReadyWith(metav1.ConditionTrue, v1alpha1.ReasonScheduled),
			HaveField("Status.Outputs.VolumeSnapshots.Total", BeEquivalentTo(2)),
			HaveField("Status.Outputs.VolumeSnapshots.Ready", BeEquivalentTo(2)),
			HaveField("Status.LastSnapshotTime.UTC()", Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))))

		By("the snapshots outliving snapscheduler's schedule")
		kubectl("delete", "snapshotschedules.snapscheduler.backube", "yearly", "-n", other)
		// The garbage collector has processed this deletion once it has processed a later one.
		later := cluster.Namespace(ctx, "later")
		cluster.BoundClaims(ctx, later, 1)
		cluster.Schedule(ctx, later, hourly)
		eventuallySnapshots(ctx, later, 1)
		kubectl("delete", "snapsched", "nightly", "-n", later)
		eventuallyNoSnapshots(ctx, later)
		Expect(names(eventuallySnapshots(ctx, other, 2))).To(Equal(names(before)))
	})
})
