// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// inventory is what was read of one or all namespaces.
type inventory struct {
	classes snapshots.Classes
	// origin is that of the one schedule that is judged, as far as it is known.
	origin []client.Object
	// Both are by namespace.
	claims    map[string][]client.Object
	snapshots map[string][]client.Object
}

// series are the snapshots of one map key under one schedule.
type series struct {
	mapKey string
	// claim is nil if the PVC is gone.
	claim     *corev1.PersistentVolumeClaim
	snapshots []client.Object
	restores  []client.Object
}

// readSchedule reads one schedule.
func readSchedule(ctx context.Context, c client.Reader, namespace, name string) (*v1alpha1.SnapshotSchedule, error) {
	s := &v1alpha1.SnapshotSchedule{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s)
	return s, err
}

// readSchedules reads the schedules of a namespace; of all of them if it is empty.
func readSchedules(ctx context.Context, c client.Reader, namespace, selector string) ([]*v1alpha1.SnapshotSchedule, error) {
	matches, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	list := &v1alpha1.SnapshotScheduleList{}
	opts := []client.ListOption{client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: matches}}
	if err := Pages(ctx, c, list, opts...); err != nil {
		return nil, err
	}
	return pointers(list.Items), nil
}

// readInventory reads the PVCs of a namespace (of all if it is empty) that match a
// selector, and the snapshots that carry a map key and match the options.
func (f *Factory) readInventory(
	ctx context.Context, c client.Reader, namespace string, claimSelector labels.Selector, opts ...client.ListOption,
) (*inventory, error) {
	opts = append([]client.ListOption{client.HasLabels{v1alpha1.LabelMapKey}}, opts...)
	return f.readSnapshotsAnd(ctx, c, namespace, claimSelector, opts...)
}

// readSnapshotsAnd is readInventory with all snapshots that match the options.
func (f *Factory) readSnapshotsAnd(
	ctx context.Context, c client.Reader, namespace string, claimSelector labels.Selector, opts ...client.ListOption,
) (*inventory, error) {
	inv := &inventory{claims: map[string][]client.Object{}, snapshots: map[string][]client.Object{}}
	claims, found := &corev1.PersistentVolumeClaimList{}, &snapshotv1.VolumeSnapshotList{}
	ofClaims := client.MatchingLabelsSelector{Selector: claimSelector}
	if err := Pages(ctx, c, claims, client.InNamespace(namespace), ofClaims); err != nil {
		return nil, err
	}
	opts = append([]client.ListOption{client.InNamespace(namespace)}, opts...)
	if err := Pages(ctx, c, found, opts...); err != nil {
		return nil, err
	}
	var err error
	if inv.classes, err = f.readClasses(ctx, c); err != nil {
		return nil, err
	}
	for i := range claims.Items {
		inv.claims[claims.Items[i].Namespace] = append(inv.claims[claims.Items[i].Namespace], &claims.Items[i])
	}
	for i := range found.Items {
		inv.snapshots[found.Items[i].Namespace] = append(inv.snapshots[found.Items[i].Namespace], &found.Items[i])
	}
	return inv, nil
}

// readClasses reads the VolumeSnapshotClasses. A user of a namespace may not be allowed
// to, which says nothing about the operator: then they are unknown.
func (f *Factory) readClasses(ctx context.Context, c client.Reader) (snapshots.Classes, error) {
	list := &snapshotv1.VolumeSnapshotClassList{}
	err := Pages(ctx, c, list)
	if apierrors.IsForbidden(err) {
		if !f.classesDenied { // its message names the user, the verb and the resource
			f.warn("%s: assuming that the operator finds a VolumeSnapshotClass for each PVC", err)
		}
		f.classesDenied = true
		return snapshots.Classes{}, nil
	}
	if err != nil {
		return snapshots.Classes{}, err
	}
	classes := snapshots.Classes{Known: true}
	for i := range list.Items {
		classes.All = append(classes.All, &list.Items[i])
	}
	return classes, nil
}

// judge returns the judge of a schedule.
func (inv *inventory) judge(s *v1alpha1.SnapshotSchedule) (*snapshots.Judge, error) {
	return snapshots.NewJudge(scheme, s, inv.classes, inv.origin...)
}

// seriesOf returns the series of a schedule: those of the PVCs that it selects,
// those of PVCs that are gone, and those of PVCs that it does not select, each by
// name. What only refers to the schedule is among them.
func (inv *inventory) seriesOf(s *v1alpha1.SnapshotSchedule, selects func(*corev1.PersistentVolumeClaim) bool) []*series {
	byKey := map[string][]client.Object{}
	for _, v := range inv.snapshots[s.Namespace] {
		if v.GetLabels()[v1alpha1.LabelSchedule] == s.Name || snapshots.Refers(v, s) {
			key := v.GetLabels()[v1alpha1.LabelMapKey]
			if key == "" {
				key = inv.sourceUID(v)
			}
			byKey[key] = append(byKey[key], v)
		}
	}
	restores := snapshots.Restores(s.Namespace, inv.claims[s.Namespace])
	var all []*series
	for _, o := range inv.claims[s.Namespace] {
		claim, key := o.(*corev1.PersistentVolumeClaim), string(o.GetUID())
		if len(byKey[key]) > 0 || selects(claim) {
			all = append(all, &series{mapKey: key, claim: claim, snapshots: byKey[key], restores: restores})
		}
		delete(byKey, key)
	}
	for key, found := range byKey {
		all = append(all, &series{mapKey: key, snapshots: found, restores: restores})
	}
	slices.SortFunc(all, func(a, b *series) int {
		return cmp.Or(cmp.Compare(b.state(selects), a.state(selects)), cmp.Compare(a.claimName(), b.claimName()), cmp.Compare(a.mapKey, b.mapKey))
	})
	return all
}

// sourceUID returns the map key of the PVC that a snapshot without one names; empty if
// it is gone.
func (inv *inventory) sourceUID(v client.Object) string {
	name := v.(*snapshotv1.VolumeSnapshot).Spec.Source.PersistentVolumeClaimName
	for _, claim := range inv.claims[v.GetNamespace()] {
		if name != nil && claim.GetName() == *name {
			return string(claim.GetUID())
		}
	}
	return ""
}

// The relations of a PVC to a schedule.
const (
	stateSelected = "Selected"
	stateGone     = "Gone"
	stateDetached = "Detached" // it exists, and is not selected
)

func (s *series) state(selects func(*corev1.PersistentVolumeClaim) bool) string {
	switch {
	case s.claim == nil:
		return stateGone
	case selects(s.claim):
		return stateSelected
	}
	return stateDetached
}

// claimName returns the name of the PVC, also of one that is gone.
func (s *series) claimName() string {
	if s.claim != nil {
		return s.claim.Name
	}
	for _, v := range s.snapshots {
		if name := v.(*snapshotv1.VolumeSnapshot).Spec.Source.PersistentVolumeClaimName; name != nil {
			return *name
		}
	}
	return s.mapKey
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
