/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package e2e

import (
	"context"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	EventuallyWithOffset(1, func(g Gomega) {
		all = cluster.Snapshots(ctx, namespace)
		g.Expect(all).To(HaveLen(n))
		for i := range all {
			g.Expect(harness.Ready(&all[i])).To(BeTrue(), "%s is not ready", all[i].Name)
			g.Expect(all[i].DeletionTimestamp).To(BeNil(), "%s is being deleted", all[i].Name)
		}
	}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed(), "there should be %d ready snapshots", n)
	return all
}

// eventuallyNoSnapshots waits until the bucket is empty.
func eventuallyNoSnapshots(ctx context.Context, namespace string) {
	EventuallyWithOffset(1, func() []snapshotv1.VolumeSnapshot { return cluster.Snapshots(ctx, namespace) }).
		WithContext(ctx).Should(BeEmpty(), "no snapshot should be left")
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
	out, err := cluster.Kubectl(nil, args...)
	ExpectWithOffset(1, err).NotTo(HaveOccurred(), out)
}
