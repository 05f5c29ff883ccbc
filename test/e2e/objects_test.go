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
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

var (
	// hourly takes one snapshot of each PVC immediately, and none while the specs run.
	hourly = v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", DeletionPolicy: v1alpha1.DeletionDelete}
	// orphaning is the same with deletionPolicy Orphan.
	orphaning = v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", DeletionPolicy: v1alpha1.DeletionOrphan}
)

// create creates an object that is deleted at the end of the node of the suite.
func create[T client.Object](ctx context.Context, o T) T {
	GinkgoHelper()
	Expect(cluster.Client.Create(ctx, o)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(cluster.Client.Delete(ctx, o))).To(Succeed()) })
	return o
}

// get reads an object again.
func get[T client.Object](ctx context.Context, o T) T {
	GinkgoHelper()
	fresh := o.DeepCopyObject().(T)
	Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(o), fresh)).To(Succeed())
	return fresh
}

// fresh returns a function for Eventually that reads an object.
func fresh[T client.Object](ctx context.Context, o T) func() T {
	return func() T { return get(ctx, o) }
}

// eventuallyGone waits until an object does not exist any more.
func eventuallyGone(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Eventually(func() bool { return apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(o), o)) }).
		WithContext(ctx).WithTimeout(time.Minute).Should(BeTrue(), "%s should be deleted", o.GetName())
}

// merge applies a merge patch.
func merge(ctx context.Context, o client.Object, format string, args ...any) {
	GinkgoHelper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...))
	Expect(cluster.Client.Patch(ctx, o, patch)).To(Succeed())
}

// request requests a snapshot of every PVC of a schedule. It waits for the next second, as a request of the second of an
// existing slot is covered by its snapshot.
func request(ctx context.Context, s *v1alpha1.SnapshotSchedule) {
	GinkgoHelper()
	nextSecond(ctx)
	merge(ctx, s, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationRequestedAt, time.Now().UTC().Format(time.RFC3339))
}

func nextSecond(ctx context.Context) {
	GinkgoHelper()
	next := time.Now().Truncate(time.Second).Add(time.Second)
	Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">=", next))
}

// Namespace creates a namespace.
func (c *Cluster) Namespace(ctx context.Context, name string) string {
	GinkgoHelper()
	return create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}).Name
}

// BoundClaims creates PVCs data-0, data-1, … and waits until the driver of the default StorageClass has bound them.
func (c *Cluster) BoundClaims(ctx context.Context, namespace string, n int) []*corev1.PersistentVolumeClaim {
	GinkgoHelper()
	claims := make([]*corev1.PersistentVolumeClaim, n)
	for i := range claims {
		claims[i] = builders.Claim(namespace, fmt.Sprintf("data-%d", i), map[string]string{"app": "db"})
		Expect(c.Client.Create(ctx, claims[i])).To(Succeed())
	}
	for _, claim := range claims {
		Eventually(fresh(ctx, claim)).WithContext(ctx).WithTimeout(time.Minute).Should(HaveField("Status.Phase", corev1.ClaimBound))
	}
	return claims
}

// Schedule creates a SnapshotSchedule with the name "nightly".
func (c *Cluster) Schedule(ctx context.Context, namespace string, spec v1alpha1.SnapshotScheduleSpec) *v1alpha1.SnapshotSchedule {
	GinkgoHelper()
	s := builders.Schedule(namespace, "nightly", spec)
	Expect(c.Client.Create(ctx, s)).To(Succeed())
	return s
}

// scheduled creates a namespace with PVCs and a schedule, and waits for a snapshot of each PVC.
func scheduled(ctx context.Context, name string, claims int, spec v1alpha1.SnapshotScheduleSpec) (string, *v1alpha1.SnapshotSchedule) {
	GinkgoHelper()
	namespace := cluster.Namespace(ctx, name)
	cluster.BoundClaims(ctx, namespace, claims)
	s := cluster.Schedule(ctx, namespace, spec)
	eventuallySnapshots(ctx, namespace, claims)
	return namespace, s
}

// Snapshots lists the VolumeSnapshots of a namespace.
func (c *Cluster) Snapshots(ctx context.Context, namespace string) []snapshotv1.VolumeSnapshot {
	GinkgoHelper()
	all := &snapshotv1.VolumeSnapshotList{}
	Expect(c.Client.List(ctx, all, client.InNamespace(namespace))).To(Succeed())
	return all.Items
}

// eventuallySnapshots waits until a namespace has n snapshots, all of them ready and none being
// deleted, and returns them.
func eventuallySnapshots(ctx context.Context, namespace string, n int) (all []snapshotv1.VolumeSnapshot) {
	GinkgoHelper()
	Eventually(func() []string {
		all = cluster.Snapshots(ctx, namespace)
		return states(all)
	}).WithContext(ctx).Should(And(HaveLen(n), Or(BeEmpty(), HaveEach(HaveSuffix("ready")))), "there should be %d ready snapshots", n)
	return all
}

// eventuallyNoSnapshots waits until a namespace has no snapshots.
func eventuallyNoSnapshots(ctx context.Context, namespace string) {
	GinkgoHelper()
	Eventually(func() []string { return states(cluster.Snapshots(ctx, namespace)) }).
		WithContext(ctx).Should(BeEmpty(), "no snapshot should be left")
}

// states describes snapshots.
func states(all []snapshotv1.VolumeSnapshot) []string {
	found := make([]string, len(all))
	for i := range all {
		state := "pending"
		switch v := &all[i]; {
		case v.DeletionTimestamp != nil:
			state = "being deleted"
		case ready(v):
			state = "ready"
		case v.Status != nil && v.Status.Error != nil:
			state = "error: " + ptr.Deref(v.Status.Error.Message, "")
		}
		found[i] = all[i].Name + ": " + state
	}
	return found
}

func ready(v *snapshotv1.VolumeSnapshot) bool {
	return v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false)
}

// names returns the names of snapshots.
func names(all []snapshotv1.VolumeSnapshot) []string {
	found := make([]string, len(all))
	for i := range all {
		found[i] = all[i].Name
	}
	return found
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

// beReadyWith matches a schedule with a status and reason of its Ready condition.
func beReadyWith(status metav1.ConditionStatus, reason string) gomegatypes.GomegaMatcher {
	return HaveField("Status.Conditions", ContainElement(And(
		HaveField("Type", v1alpha1.ConditionReady), HaveField("Status", status), HaveField("Reason", reason))))
}

// account creates a ServiceAccount with the name of the operator's, or another one.
func account(ctx context.Context, namespace string, name ...string) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: append(name, local.ServiceAccount)[0]}
	create(ctx, &corev1.ServiceAccount{ObjectMeta: meta})
}

// bindManager binds the operator's role in a namespace to the operator of that namespace or another.
func bindManager(ctx context.Context, namespace, home string) {
	GinkgoHelper()
	create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "manager"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "snapshotschedule-manager-role"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: local.ServiceAccount, Namespace: home}},
	})
}
