// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/cached"
)

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

// Start fills a cache with the labeled members, as the manager's cache holds other VolumeSnapshots, and runs the controller.
func (m *Members) Start(ctx context.Context, h mapcontroller.Host) error {
	m.api, m.live = client.WithFieldOwner(h.Dependencies.Client, "snapshotschedule"), h.Dependencies.Live
	only := map[string]cache.Config{}
	for _, namespace := range m.options.Namespaces {
		only[namespace] = cache.Config{}
	}
	with, invalid := labels.Parse(v1alpha1.LabelGroupSnapshot)
	members, err := h.NewCache(cache.Options{
		NewInformer: m.labeled.NewInformer, DefaultNamespaces: only,
		ByObject: map[client.Object]cache.ByObject{&snapshotv1.VolumeSnapshot{}: {Label: with, Transform: cached.Member}},
	})
	if err = errors.Join(invalid, err); err != nil {
		return err
	}
	labeled, err := members.GetInformer(ctx, &snapshotv1.VolumeSnapshot{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	// By the time that decisions read members, those of the first list are in the cache: these events wake nobody.
	_, err = labeled.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, isInInitialList bool) {
			if !isInInitialList {
				m.event(o)
			}
		},
		UpdateFunc: m.updated,
		DeleteFunc: m.event,
	})
	if err = errors.Join(err, labeled.AddIndexers(informer.Indexers(byGroup))); err != nil {
		return err
	}
	go func() { _ = members.Start(ctx) }()
	// Schedules are in the cache first: whose a group snapshot is may depend on them.
	if !toolscache.WaitForCacheSync(ctx.Done(), labeled.HasSynced) || !h.Cache.WaitForCacheSync(ctx) {
		return ctx.Err()
	}
	_, err = h.Objects(name, controller.Options{
		Reconciler: m, MaxConcurrentReconciles: workers, CacheSyncTimeout: mapcontroller.CacheSyncTimeout,
	},
		source.Func(m.queue.Start),
		source.Kind(h.Cache, &groupv1.VolumeGroupSnapshot{}, &handler.TypedEnqueueRequestForObject[*groupv1.VolumeGroupSnapshot]{},
			predicate.TypedResourceVersionChangedPredicate[*groupv1.VolumeGroupSnapshot]{}), // no resync: an idle manager makes no request
		source.Kind(h.Cache, &v1alpha1.SnapshotSchedule{}, handler.TypedEnqueueRequestsFromMapFunc(m.groupsOf),
			predicate.TypedGenerationChangedPredicate[*v1alpha1.SnapshotSchedule]{}))
	return err
}

// updated is the event of a change. A resync is none.
func (m *Members) updated(before, after any) {
	if before.(*snapshotv1.VolumeSnapshot).ResourceVersion != after.(*snapshotv1.VolumeSnapshot).ResourceVersion {
		m.event(before)
		m.event(after)
	}
}

// event wakes the key of the group snapshot that a labeled VolumeSnapshot names, and has its members sought.
func (m *Members) event(o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	v := o.(*snapshotv1.VolumeSnapshot)
	group := client.ObjectKey{Namespace: v.Namespace, Name: backup.GroupLabel(v)}
	m.queue.AddAfter(reconcile.Request{NamespacedName: group}, 0)
	// At once: decisions must not wait for labels of others.
	if key, ours := m.Engine.KeyOf(m.options.Stores.Get(&groupv1.VolumeGroupSnapshot{}, group)); ours {
		m.Engine.Enqueue(key, 0)
	}
}

// groupsOf returns the group snapshots that name a schedule. It may be created again, and own those that another one left.
func (m *Members) groupsOf(_ context.Context, s *v1alpha1.SnapshotSchedule) (requests []reconcile.Request) {
	for _, o := range m.options.Stores.List(&groupv1.VolumeGroupSnapshot{}, s.Namespace) {
		if o.GetLabels()[v1alpha1.LabelSchedule] == s.Name {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
	}
	return requests
}
