// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/cached"
)

// name is the controller's name, in logs and metrics.
const name = "snapshotschedule-members"

// byGroup finds labeled members by the group snapshot that they name.
var byGroup = informer.Index{Name: "group", Values: func(o client.Object) []string {
	return []string{o.GetNamespace() + "/" + backup.GroupLabel(o)}
}}

// Of returns the labeled members of a group snapshot that the cache has.
func (m *Members) Of(group client.Object) (members []client.Object) {
	for _, o := range m.labeled.ByIndex(nil, &snapshotv1.VolumeSnapshot{}, byGroup, group.GetNamespace()+"/"+group.GetName()) {
		if backup.IsMember(o, group) {
			members = append(members, o)
		}
	}
	return members
}

// Live returns the VolumeSnapshots that the API server has with the label of a group snapshot.
func Live(ctx context.Context, live client.Reader, group client.Object) (labeled []client.Object, err error) {
	for next := ""; ; {
		var page snapshotv1.VolumeSnapshotList
		err := live.List(ctx, &page, client.InNamespace(group.GetNamespace()), client.Limit(500), client.Continue(next),
			client.MatchingLabels{v1alpha1.LabelGroupSnapshot: group.GetName()})
		for i := range page.Items {
			labeled = append(labeled, &page.Items[i])
		}
		if next = page.Continue; next == "" || err != nil {
			return labeled, err
		}
	}
}

// Start fills a cache with the labeled members, and runs the controller. The manager's cache holds other VolumeSnapshots, and a cache
// takes one selector per kind.
func (m *Members) Start(ctx context.Context, h mapcontroller.Host) error {
	m.api, m.live = client.WithFieldOwner(h.Dependencies.Client, "snapshotschedule"), h.Dependencies.Live
	only := map[string]cache.Config{}
	for _, namespace := range m.options.Namespaces {
		only[namespace] = cache.Config{}
	}
	members, err := h.NewCache(cache.Options{
		NewInformer: m.labeled.NewInformer, DefaultNamespaces: only,
		ByObject: map[client.Object]cache.ByObject{
			&snapshotv1.VolumeSnapshot{}: {Label: where(selection.Exists), Transform: cached.Member},
		},
	})
	if err != nil {
		return err
	}
	labeled, err := members.GetInformer(ctx, &snapshotv1.VolumeSnapshot{}, cache.BlockUntilSynced(false))
	if err == nil {
		err = labeled.AddIndexers(informer.Indexers(byGroup))
	}
	if err != nil {
		return err
	}
	go func() { _ = members.Start(ctx) }()
	// Schedules are in the cache first: whose a group snapshot is may depend on them.
	if !toolscache.WaitForCacheSync(ctx.Done(), labeled.HasSynced) || !h.Cache.WaitForCacheSync(ctx) {
		return ctx.Err()
	}
	_, err = h.Objects(name, controller.Options{
		Reconciler: m, MaxConcurrentReconciles: 8, CacheSyncTimeout: mapcontroller.CacheSyncTimeout,
	},
		source.Kind(h.Cache, &groupv1.VolumeGroupSnapshot{}, &handler.TypedEnqueueRequestForObject[*groupv1.VolumeGroupSnapshot]{}),
		source.Kind(members, &snapshotv1.VolumeSnapshot{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(_ context.Context, v *snapshotv1.VolumeSnapshot) []reconcile.Request {
				return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: v.Namespace, Name: backup.GroupLabel(v)}}}
			})))
	return err
}

// where selects VolumeSnapshots that have, or lack, the label of members.
func where(is selection.Operator) labels.Selector {
	requirement, err := labels.NewRequirement(v1alpha1.LabelGroupSnapshot, is, nil)
	if err != nil {
		panic(err) // the label is a constant
	}
	return labels.NewSelector().Add(*requirement)
}

// sharedFor is how long the group snapshots of a namespace share a live list: many may be cut at once.
const sharedFor = 3 * time.Second

// naming returns the names of the unlabeled VolumeSnapshots that name a group snapshot as their owner, as anybody can write.
func (m *Members) naming(ctx context.Context, group *groupv1.VolumeGroupSnapshot) ([]client.ObjectKey, error) {
	m.listing.Lock()
	defer m.listing.Unlock()
	now := m.options.Clock.Now()
	if age := now.Sub(m.listed); age < 0 || age >= sharedFor {
		m.listed, m.unlabeled = now, map[string]map[types.UID][]client.ObjectKey{}
	}
	byOwner, known := m.unlabeled[group.Namespace]
	if known {
		return byOwner[group.UID], nil
	}
	byOwner = map[types.UID][]client.ObjectKey{}
	err := mapcontroller.EachMetadata(ctx, m.live, snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"), func(o client.Object) {
		for _, owner := range o.GetOwnerReferences() {
			if owner.Kind == "VolumeGroupSnapshot" {
				byOwner[owner.UID] = append(byOwner[owner.UID], client.ObjectKeyFromObject(o))
			}
		}
	}, client.InNamespace(group.Namespace), client.MatchingLabelsSelector{Selector: where(selection.DoesNotExist)})
	if err == nil {
		m.unlabeled[group.Namespace] = byOwner
	}
	return byOwner[group.UID], err
}
