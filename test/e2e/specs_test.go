// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

// hourly takes one snapshot of each PVC at once, and then none for long.
var hourly = v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"}

// beReadyWith matches a schedule by its condition Ready.
func beReadyWith(status metav1.ConditionStatus, reason string) gomegatypes.GomegaMatcher {
	return HaveField("Status.Conditions", ContainElement(And(
		HaveField("Type", v1alpha1.ConditionReady), HaveField("Status", status), HaveField("Reason", reason))))
}

// haveProblem matches a schedule by one of its problems.
func haveProblem(claim, reason string) gomegatypes.GomegaMatcher {
	return HaveField("Status.Problems", ContainElement(And(
		HaveField("PersistentVolumeClaim", claim), HaveField("Reason", reason))))
}

// fresh reads a schedule again, for Eventually.
func fresh(ctx context.Context, s *v1alpha1.SnapshotSchedule) func() *v1alpha1.SnapshotSchedule {
	return func() *v1alpha1.SnapshotSchedule { return harness.Get(ctx, cluster, s) }
}

// eventuallySnapshots waits for the snapshots of a namespace to be n, all of
// them ready and none being deleted, and returns them.
func eventuallySnapshots(ctx context.Context, namespace string, n int) []snapshotv1.VolumeSnapshot {
	var all []snapshotv1.VolumeSnapshot
	EventuallyWithOffset(1, func() []string {
		all = cluster.Snapshots(ctx, namespace)
		return states(all)
	}).WithContext(ctx).Should(And(HaveLen(n), HaveEach(HaveSuffix("ready"))), "there should be %d ready snapshots", n)
	return all
}

// eventuallyNoSnapshots waits until the bucket is empty.
func eventuallyNoSnapshots(ctx context.Context, namespace string) {
	EventuallyWithOffset(1, func() []string { return states(cluster.Snapshots(ctx, namespace)) }).
		WithContext(ctx).Should(BeEmpty(), "no snapshot should be left")
}

// states are snapshots in words.
func states(all []snapshotv1.VolumeSnapshot) []string {
	words := make([]string, len(all))
	for i := range all {
		words[i] = all[i].Name + ": " + state(&all[i])
	}
	return words
}

func state(v *snapshotv1.VolumeSnapshot) string {
	switch {
	case v.DeletionTimestamp != nil:
		return "being deleted"
	case harness.Ready(v):
		return "ready"
	case v.Status != nil && v.Status.Error != nil:
		return "error: " + ptr.Deref(v.Status.Error.Message, "")
	}
	return "not yet"
}

// named are the names of snapshots.
func named(all []snapshotv1.VolumeSnapshot) []string {
	found := make([]string, len(all))
	for i := range all {
		found[i] = all[i].Name
	}
	return found
}

// annotate sets or, with an empty value, removes an annotation.
func annotate(ctx context.Context, o client.Object, key, value string) {
	patch := client.MergeFrom(o.DeepCopyObject().(client.Object))
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	if value == "" {
		delete(annotations, key)
	}
	o.SetAnnotations(annotations)
	ExpectWithOffset(1, cluster.Client.Patch(ctx, o, patch)).To(Succeed())
}

// kubectl must succeed.
func kubectl(args ...string) {
	out, err := cluster.Kubectl(nil, append(args, "--timeout=60s")...)
	ExpectWithOffset(1, err).NotTo(HaveOccurred(), out)
}

// tryToSnapshot asks the API server whether it would take a snapshot.
func tryToSnapshot(ctx context.Context, namespace, claim string) error {
	return cluster.Client.Create(ctx, &snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "try-"},
		Spec:       snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: &claim}},
	}, client.DryRunAll)
}
