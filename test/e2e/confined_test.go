// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/http"
	"path/filepath"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

var _ = Describe("an operator that is confined to listed namespaces", func() {
	// The namespace of config/namespaced.
	const home = "snapshotschedule"

	It("works there with Roles only, from a namespace of its own, and makes no request elsewhere", func(ctx context.Context) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}}
		Expect(cluster.Client.Create(ctx, namespace)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(cluster.Client.Delete(ctx, namespace))).To(Succeed())
		})
		for _, o := range harness.Decode(harness.Kustomize("config/namespaced")) {
			Expect(o.GetNamespace()).To(Equal(home), "%s %s is not confined", o.GetKind(), o.GetName())
			if o.GetKind() != "Deployment" {
				cluster.Apply(ctx, o)
			}
		}
		watched, elsewhere := cluster.Namespace(ctx, "watched"), cluster.Namespace(ctx, "elsewhere")
		kubectl("apply", "--server-side", "-n", watched, "-k", filepath.Join(harness.Root, "config", "namespaced", "watched"))
		orphan := hourly
		orphan.DeletionPolicy = v1alpha1.DeletionOrphan
		for _, in := range []string{watched, elsewhere} {
			cluster.BoundClaims(ctx, in, 2)
			cluster.Schedule(ctx, in, orphan)
		}

		confined := cluster.WithOperatorIn(home)
		start := confined.Audit.Mark()
		operator := confined.StartElected(ctx, "--watch-namespaces="+watched)
		snapshots := eventuallySnapshots(ctx, watched, 2)

		By("a user removing the map key of a snapshot and deleting the schedule")
		untag := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1alpha1.LabelMapKey+`":null}}}`))
		Expect(cluster.Client.Patch(ctx, &snapshots[0], untag)).To(Succeed())
		Eventually(owners(ctx, watched)).WithContext(ctx).Should(ContainElement(BeEmpty()))
		kubectl("delete", "snapsched", "nightly", "-n", watched)
		Eventually(owners(ctx, watched)).WithContext(ctx).Should(HaveEach(BeEmpty()), "the snapshots should stay, released")

		Expect(operator.Alive()).To(BeTrue())
		Expect(cluster.Snapshots(ctx, elsewhere)).To(BeEmpty())
		requests := confined.Audit.Since(start)
		AddReportEntry("requests", "\n"+requests.Summary())
		Expect(requests.Forbidden()).To(BeEmpty())
		Expect(requests.Of("volumesnapshots", "create")).NotTo(BeEmpty())
		Expect(requests.Of("leases", "update")).NotTo(BeEmpty())
		Expect(requests.Where(func(r audit.Request) bool {
			elected := r.Namespace == home && (r.Resource == "leases" || r.Resource == "events")
			return r.Resource != "" && r.Namespace != watched && !elected
		})).To(BeEmpty())
	})

	It("is not ready while it must not list one of its namespaces", func(ctx context.Context) {
		mine := cluster.Namespace(ctx, "mine")
		foreign := cluster.Namespace(ctx, "foreign")
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: mine, Name: harness.ServiceAccount}}
		Expect(cluster.Client.Create(ctx, account)).To(Succeed())
		bindManager(ctx, mine)

		confined := cluster.WithOperatorIn(mine)
		operator := confined.Launch(ctx, "--watch-namespaces="+mine+","+foreign)
		operator.WaitHealthy(ctx)
		Expect(operator.Probe("healthz")).To(Equal(http.StatusOK))
		Eventually(func() audit.Requests { return confined.Audit.Since(0).In(foreign).Forbidden() }).WithContext(ctx).ShouldNot(BeEmpty())
		Expect(operator.Probe("readyz")).To(Equal(http.StatusInternalServerError))

		By("being permitted to")
		bindManager(ctx, foreign, mine)
		operator.WaitReady(ctx)
	})

	It("reports an invalid --watch-namespaces", func(ctx context.Context) {
		operator := cluster.Launch(ctx, "--watch-namespaces=")
		Eventually(operator.Alive).WithContext(ctx).Should(BeFalse())
		Expect(operator.Errors()).To(ContainElement(HaveField("Msg", ContainSubstring(`invalid namespace ""`))))
	})
})

// bindManager binds the shipped role in a namespace to the ServiceAccount of that namespace or another.
func bindManager(ctx context.Context, namespace string, account ...string) {
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "manager"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "snapshotschedule-manager-role"},
		Subjects: []rbacv1.Subject{{
			Kind: rbacv1.ServiceAccountKind, Name: harness.ServiceAccount, Namespace: append(account, namespace)[0],
		}},
	}
	ExpectWithOffset(1, cluster.Client.Create(ctx, binding)).To(Succeed())
}

// owners returns the owner references of each snapshot of a namespace.
func owners(ctx context.Context, namespace string) func() [][]metav1.OwnerReference {
	return func() (all [][]metav1.OwnerReference) {
		for _, v := range cluster.Snapshots(ctx, namespace) {
			all = append(all, v.OwnerReferences)
		}
		return all
	}
}

var _ = Describe("a schedule", func() {
	It("touches nothing in another namespace, whatever its labels", func(ctx context.Context) {
		start := cluster.Audit.Mark()
		cluster.Start(ctx)
		mine, other := cluster.Namespace(ctx, "mine"), cluster.Namespace(ctx, "other")
		claim := cluster.BoundClaims(ctx, mine, 1)[0]
		foreign := cluster.BoundClaims(ctx, other, 1)[0]

		// A snapshot that looks like an expired orphan of the first namespace's series.
		bait := &snapshotv1.VolumeSnapshot{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: other, Name: "bait",
				Labels:      map[string]string{v1alpha1.LabelMapKey: string(claim.UID), v1alpha1.LabelSchedule: "nightly"},
				Annotations: map[string]string{v1alpha1.AnnotationScheduledAt: "2020-01-01T00:00:00Z"},
			},
			Spec: snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: &foreign.Name}},
		}
		Expect(cluster.Client.Create(ctx, bait)).To(Succeed())
		s := cluster.Schedule(ctx, mine, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1s", SnapshotTTL: "2s"})

		// It has created and deleted snapshots of its own by then.
		Eventually(fresh(ctx, s)).WithContext(ctx).Should(HaveField("Status.Inputs.PersistentVolumeClaims.Total", BeEquivalentTo(1)))
		Eventually(func() audit.Requests { return cluster.Audit.Since(start).In(mine).Of("volumesnapshots", "delete") }).
			WithContext(ctx).ShouldNot(BeEmpty())
		Expect(cluster.Audit.Since(start).In(other)).To(BeEmpty())
		Expect(harness.Get(ctx, cluster, bait).OwnerReferences).To(BeEmpty())
		Expect(cluster.Snapshots(ctx, other)).To(HaveLen(1))
	})
})
