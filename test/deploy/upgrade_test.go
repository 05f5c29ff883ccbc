// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

// earlier is the last commit whose operator sets owner references under every deletionPolicy, and whose API has no
// ClusterSnapshotSchedule.
const earlier = "8ba6fcde7de5d768d71cb03594db8c39d2fcc9ff"

// checkout writes the files of a commit to a folder. It skips the spec if the clone does not have the commit.
func checkout(ctx context.Context, commit string) string {
	GinkgoHelper()
	cat := exec.CommandContext(ctx, "git", "cat-file", "-e", commit+"^{commit}")
	cat.Dir = root
	if out, err := cat.CombinedOutput(); err != nil {
		Skip(fmt.Sprintf("git does not find commit %s (%s); a shallow clone gets it with git fetch --unshallow", commit, bytes.TrimSpace(out)))
	}
	tree := GinkgoT().TempDir()
	archive := filepath.Join(tree, "tree.tar")
	run(ctx, nil, "git", "archive", "--format=tar", "--output="+archive, commit)
	run(ctx, nil, "tar", "-xf", archive, "-C", tree)
	return tree
}

// snapshots returns the snapshots of the workload by UID.
func (w *workload) snapshots(ctx context.Context) map[types.UID]*snapshotv1.VolumeSnapshot {
	GinkgoHelper()
	all := &snapshotv1.VolumeSnapshotList{}
	Expect(cluster.Client.List(ctx, all, client.InNamespace(w.namespace))).To(Succeed())
	byUID := map[types.UID]*snapshotv1.VolumeSnapshot{}
	for i := range all.Items {
		byUID[all.Items[i].UID] = &all.Items[i]
	}
	return byUID
}

// expectAll fails unless all of some snapshots exist and are not being deleted.
func (w *workload) expectAll(ctx context.Context, before map[types.UID]*snapshotv1.VolumeSnapshot) {
	GinkgoHelper()
	after := w.snapshots(ctx)
	for uid, s := range before {
		Expect(after).To(HaveKeyWithValue(uid, HaveField("DeletionTimestamp", BeNil())), s.Name)
	}
}

func (w *workload) current(ctx context.Context) *v1alpha1.SnapshotSchedule {
	GinkgoHelper()
	s := &v1alpha1.SnapshotSchedule{}
	Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(w.schedule), s)).To(Succeed())
	return s
}

var _ = Describe("the upgrade from "+earlier[:7], Ordered, func() {
	const (
		tag            = "earlier"
		interval       = 5 * time.Second
		statusInterval = 5 * time.Second
	)
	var (
		present         []byte // the manifests of this checkout
		deleted, orphan *workload
		before          map[*workload]map[types.UID]*snapshotv1.VolumeSnapshot
		start           audit.Mark
	)

	BeforeAll(func(ctx context.Context) {
		tree := checkout(ctx, earlier)
		buildImage(ctx, tree, tag)
		start = cluster.mark()
		present = kustomize(ctx, root, firstTag)
		DeferCleanup(uninstall, present, "policy-delete", "policy-orphan", NodeTimeout(5*time.Minute))
		run(ctx, kustomize(ctx, tree, tag), "kubectl", "apply", "--server-side", "-f", "-")
		eventuallyAvailable(ctx)

		deleted = newWorkload(ctx, "policy-delete", interval, 2, v1alpha1.DeletionDelete)
		orphan = newWorkload(ctx, "policy-orphan", interval, 2, v1alpha1.DeletionOrphan)
		orphan.ownerless = false // until the upgrade
		for _, w := range []*workload{deleted, orphan} {
			w.expectSnapshots(ctx)
		}
		Expect(orphan.current(ctx).Finalizers).To(ConsistOf(v1alpha1.FinalizerRelease))
	}, NodeTimeout(10*time.Minute))

	It("keeps every snapshot", func(ctx context.Context) {
		before = map[*workload]map[types.UID]*snapshotv1.VolumeSnapshot{deleted: deleted.snapshots(ctx), orphan: orphan.snapshots(ctx)}
		run(ctx, present, "kubectl", "apply", "--server-side", "-f", "-")
		kubectl(ctx, "-n", system, "rollout", "status", "deployment", deploymentName, "--timeout=2m")
		eventuallyAvailable(ctx)
		for w, snapshots := range before {
			w.expectAll(ctx, snapshots)
		}
	}, NodeTimeout(4*time.Minute))

	It("takes the owner references off the snapshots of policy Orphan, and leaves the others", func(ctx context.Context) {
		Eventually(func(g Gomega) {
			for _, s := range orphan.snapshots(ctx) {
				g.Expect(s.OwnerReferences).To(BeEmpty(), s.Name)
			}
			g.Expect(orphan.current(ctx).Finalizers).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
		orphan.ownerless = true
		for w, snapshots := range before {
			w.expectSnapshots(ctx) // and that their owners are right, and that no slot was taken twice
			w.expectAll(ctx, snapshots)
		}
	}, NodeTimeout(3*time.Minute))

	It("has a status that settles", func(ctx context.Context) {
		is := func(condition string, status metav1.ConditionStatus) gomegatypes.GomegaMatcher {
			return And(HaveField("Type", condition), HaveField("Status", status))
		}
		for w := range before {
			w.suspend(ctx)
			w.expectReady(ctx)
			total := len(w.snapshots(ctx))
			Eventually(func() *v1alpha1.SnapshotSchedule { return w.current(ctx) }).WithContext(ctx).Should(And(
				HaveField("Status.ObservedGeneration", w.current(ctx).Generation),
				HaveField("Status.Outputs.VolumeSnapshots.Total", BeEquivalentTo(total)),
				HaveField("Status.Outputs.VolumeSnapshots.Ready", BeEquivalentTo(total)),
				HaveField("Status.OldestRecoveryPointTime", Not(BeNil())),
				HaveField("Status.Problems", BeEmpty()),
				HaveField("Status.Conditions", ConsistOf(
					is(v1alpha1.ConditionReady, metav1.ConditionTrue), is(v1alpha1.ConditionStalled, metav1.ConditionFalse),
					is(v1alpha1.ConditionRetentionPaused, metav1.ConditionFalse),
					is(v1alpha1.ConditionProtected, metav1.ConditionFalse))))) // two slots passed without a snapshot
		}
		versions := func() []string {
			return []string{deleted.current(ctx).ResourceVersion, orphan.current(ctx).ResourceVersion}
		}
		settled := versions()
		Consistently(versions, 2*statusInterval, time.Second).WithContext(ctx).Should(Equal(settled))
	}, NodeTimeout(3*time.Minute))

	It("keeps the snapshots of policy Orphan when the schedule is deleted in the foreground", func(ctx context.Context) {
		snapshots := orphan.snapshots(ctx)
		kubectl(ctx, "delete", "snapsched", orphan.schedule.Name, "-n", orphan.namespace, "--cascade=foreground", "--timeout=1m")
		orphan.expectAll(ctx, snapshots)
	}, NodeTimeout(2*time.Minute))

	It("deleted nothing, and made no request that is not permitted", func() {
		requests := cluster.requests(start)
		Expect(requests.Of("volumesnapshots", "delete", "deletecollection")).To(BeEmpty())
		Expect(requests.Where(forbidden)).To(BeEmpty())
	})
})
