// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

// hourly takes one snapshot of each PVC immediately, and none while the specs run.
var hourly = v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"}

var beReadyWith = harness.BeReadyWith

// haveProblem matches a schedule with a problem of a PVC.
func haveProblem(claim, reason string) gomegatypes.GomegaMatcher {
	return HaveField("Status.Problems", ContainElement(And(
		HaveField("PersistentVolumeClaim", claim), HaveField("Reason", reason))))
}

func fresh(ctx context.Context, s *v1alpha1.SnapshotSchedule) func() *v1alpha1.SnapshotSchedule {
	return harness.Fresh(ctx, cluster, s)
}

// eventuallySnapshots waits until a namespace has n snapshots, all of them ready and none being
// deleted, and returns them.
func eventuallySnapshots(ctx context.Context, namespace string, n int) []snapshotv1.VolumeSnapshot {
	var all []snapshotv1.VolumeSnapshot
	EventuallyWithOffset(1, func() []string {
		all = cluster.Snapshots(ctx, namespace)
		return states(all)
	}).WithContext(ctx).Should(And(HaveLen(n), HaveEach(HaveSuffix("ready"))), "there should be %d ready snapshots", n)
	return all
}

// eventuallyNoSnapshots waits until a namespace has no snapshots.
func eventuallyNoSnapshots(ctx context.Context, namespace string) {
	EventuallyWithOffset(1, func() []string { return states(cluster.Snapshots(ctx, namespace)) }).
		WithContext(ctx).Should(BeEmpty(), "no snapshot should be left")
}

// states describes snapshots.
func states(all []snapshotv1.VolumeSnapshot) []string {
	found := make([]string, len(all))
	for i := range all {
		found[i] = all[i].Name + ": " + state(&all[i])
	}
	return found
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
	return "pending"
}

// names returns the names of snapshots.
func names(all []snapshotv1.VolumeSnapshot) []string {
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

// kubectl runs kubectl, which must succeed.
func kubectl(args ...string) {
	out, err := cluster.Kubectl(nil, append(args, "--timeout=60s")...)
	ExpectWithOffset(1, err).NotTo(HaveOccurred(), out)
}
