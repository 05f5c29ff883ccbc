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
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Namespace makes a namespace that goes with the node of the suite.
func (c *Cluster) Namespace(ctx context.Context, name string) string {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}
	must(c.Client.Create(ctx, ns), "create namespace")
	DeferCleanup(func(ctx context.Context) {
		must(client.IgnoreNotFound(c.Client.Delete(ctx, ns)), "delete namespace")
	})
	return ns.Name
}

// appLabels are those of the PVCs data-0, data-1, …
var appLabels = map[string]string{"app": "db"}

// Claim makes a PVC; the driver of the default StorageClass binds it.
func (c *Cluster) Claim(ctx context.Context, namespace, name string, labels map[string]string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
	must(c.Client.Create(ctx, claim), "create PVC")
	return claim
}

// BoundClaims makes PVCs data-0, data-1, … and waits until the driver has
// bound them.
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

// FakeBoundClaims makes PVCs data-0, data-1, … and says in their status that
// they are bound: for an API server where nothing binds PVCs.
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

// Schedule makes a SnapshotSchedule of the name "nightly".
func (c *Cluster) Schedule(ctx context.Context, namespace string, spec v1alpha1.SnapshotScheduleSpec) *v1alpha1.SnapshotSchedule {
	s := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nightly"}, Spec: spec}
	must(c.Client.Create(ctx, s), "create SnapshotSchedule")
	return s
}

// Snapshots are the VolumeSnapshots of a namespace.
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

// Ready tells whether a snapshot can be restored from.
func Ready(v *snapshotv1.VolumeSnapshot) bool {
	return v.Status != nil && v.Status.ReadyToUse != nil && *v.Status.ReadyToUse
}

// Nudge makes the snapshot controllers look again at the snapshots of a
// namespace that are on their way out. One that was deleted while its driver was
// away may otherwise wait for their next resync, a quarter of an hour.
func (c *Cluster) Nudge(ctx context.Context, namespace string) {
	touched := client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{"e2e/nudged":%q}}}`, time.Now().Format(time.RFC3339Nano)))
	touch := func(o client.Object) {
		must(client.IgnoreNotFound(c.Client.Patch(ctx, o, touched)), "nudge")
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
