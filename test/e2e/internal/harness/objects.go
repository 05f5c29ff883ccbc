// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// Namespace creates a namespace that is deleted at the end of the node of the suite.
func (c *Cluster) Namespace(ctx context.Context, name string) string {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}
	must(c.Client.Create(ctx, ns), "create namespace")
	DeferCleanup(func(ctx context.Context) {
		must(client.IgnoreNotFound(c.Client.Delete(ctx, ns)), "delete namespace")
	})
	return ns.Name
}

// appLabels are the labels of the PVCs data-0, data-1, …
var appLabels = map[string]string{"app": "db"}

// Claim creates a PVC. The driver of the default StorageClass binds it.
func (c *Cluster) Claim(ctx context.Context, namespace, name string, labels map[string]string) *corev1.PersistentVolumeClaim {
	claim := builders.Claim(namespace, name, labels)
	must(c.Client.Create(ctx, claim), "create PVC")
	return claim
}

// BoundClaims creates PVCs data-0, data-1, … and waits until the driver has bound them.
func (c *Cluster) BoundClaims(ctx context.Context, namespace string, n int) []*corev1.PersistentVolumeClaim {
	claims := c.each(n, func(i int) *corev1.PersistentVolumeClaim {
		return c.Claim(ctx, namespace, fmt.Sprintf("data-%d", i), appLabels)
	})
	EventuallyWithOffset(1, func(g Gomega) {
		all := &corev1.PersistentVolumeClaimList{}
		g.Expect(c.Client.List(ctx, all, client.InNamespace(namespace))).To(Succeed())
		bound := 0
		for i := range all.Items {
			if all.Items[i].Status.Phase == corev1.ClaimBound {
				bound++
			}
		}
		g.Expect(bound).To(Equal(n))
	}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed(), "the driver should bind all PVCs")
	return claims
}

// FakeBoundClaims creates PVCs data-0, data-1, … and sets their phase to Bound, for an API server
// where nothing binds PVCs.
func (c *Cluster) FakeBoundClaims(ctx context.Context, namespace string, n int) []*corev1.PersistentVolumeClaim {
	return c.each(n, func(i int) *corev1.PersistentVolumeClaim {
		claim := c.Claim(ctx, namespace, fmt.Sprintf("data-%d", i), appLabels)
		claim.Status.Phase = corev1.ClaimBound
		must(c.Client.Status().Update(ctx, claim), "bind PVC")
		return claim
	})
}

func (c *Cluster) each(n int, do func(i int) *corev1.PersistentVolumeClaim) []*corev1.PersistentVolumeClaim {
	claims := make([]*corev1.PersistentVolumeClaim, n)
	var g errgroup.Group
	g.SetLimit(32)
	for i := range n {
		g.Go(func() error {
			defer GinkgoRecover()
			claims[i] = do(i)
			return nil
		})
	}
	_ = g.Wait()
	return claims
}

// Schedule creates a SnapshotSchedule with the name "nightly".
func (c *Cluster) Schedule(ctx context.Context, namespace string, spec v1alpha1.SnapshotScheduleSpec) *v1alpha1.SnapshotSchedule {
	s := builders.Schedule(namespace, "nightly", spec)
	must(c.Client.Create(ctx, s), "create SnapshotSchedule")
	return s
}

// Snapshots lists the VolumeSnapshots of a namespace.
func (c *Cluster) Snapshots(ctx context.Context, namespace string) []snapshotv1.VolumeSnapshot {
	all := &snapshotv1.VolumeSnapshotList{}
	must(c.Client.List(ctx, all, client.InNamespace(namespace)), "list snapshots")
	return all.Items
}

// Get reads an object again.
func Get[T client.Object](ctx context.Context, c *Cluster, o T) T {
	fresh := o.DeepCopyObject().(T)
	must(c.Client.Get(ctx, client.ObjectKeyFromObject(o), fresh), "get %s", o.GetName())
	return fresh
}

// Fresh returns a function for Eventually that reads an object.
func Fresh[T client.Object](ctx context.Context, c *Cluster, o T) func() T {
	return func() T { return Get(ctx, c, o) }
}

// BeReadyWith matches a schedule with a status and reason of its Ready condition.
func BeReadyWith(status metav1.ConditionStatus, reason string) gomegatypes.GomegaMatcher {
	return HaveField("Status.Conditions", ContainElement(And(
		HaveField("Type", v1alpha1.ConditionReady), HaveField("Status", status), HaveField("Reason", reason))))
}

// Ready returns whether a snapshot is ready to use.
func Ready(v *snapshotv1.VolumeSnapshot) bool {
	return v.Status != nil && v.Status.ReadyToUse != nil && *v.Status.ReadyToUse
}

// RequeueDeleted makes the snapshot controllers reconcile the snapshots of a namespace that are being
// deleted. One that was deleted while its driver was down may otherwise wait 15 minutes for the
// next resync.
func (c *Cluster) RequeueDeleted(ctx context.Context, namespace string) {
	touched := client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{"e2e/touched":%q}}}`, time.Now().Format(time.RFC3339Nano)))
	touch := func(o client.Object) {
		must(client.IgnoreNotFound(c.Client.Patch(ctx, o, touched)), "touch %s", o.GetName())
	}
	for _, v := range c.Snapshots(ctx, namespace) {
		if v.DeletionTimestamp == nil {
			continue
		}
		touch(&v)
		content := &snapshotv1.VolumeSnapshotContent{}
		content.Name = "snapcontent-" + string(v.UID)
		touch(content)
	}
}
