// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
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
func (f *Factory) readSchedule(ctx context.Context, name string) (*v1alpha1.SnapshotSchedule, error) {
	s := &v1alpha1.SnapshotSchedule{}
	return s, f.get(ctx, name, s)
}

// readSchedules reads the schedules of a namespace; of all of them if it is empty.
func (f *Factory) readSchedules(ctx context.Context, namespace, selector string) ([]*v1alpha1.SnapshotSchedule, error) {
	matches, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	list := &v1alpha1.SnapshotScheduleList{}
	err = f.list(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: matches})
	all := make([]*v1alpha1.SnapshotSchedule, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return all, err
}

// The snapshots to read: those of all schedules, or of one.
var managed = client.HasLabels{v1alpha1.LabelMapKey}

func ofSchedule(name string) client.MatchingLabels {
	return client.MatchingLabels{v1alpha1.LabelSchedule: name}
}

// readInventory reads the PVCs of a namespace (of all if it is empty) that match a
// selector, and the snapshots that match the options.
func (f *Factory) readInventory(
	ctx context.Context, namespace string, claimSelector labels.Selector, opts ...client.ListOption,
) (*inventory, error) {
	claims, found := &corev1.PersistentVolumeClaimList{}, &snapshotv1.VolumeSnapshotList{}
	if err := f.list(ctx, claims, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: claimSelector}); err != nil {
		return nil, err
	}
	if err := f.list(ctx, found, append(opts, client.InNamespace(namespace))...); err != nil {
		return nil, err
	}
	classes, err := f.readClasses(ctx)
	return &inventory{classes: classes, claims: byNamespace(claims), snapshots: byNamespace(found)}, err
}

func byNamespace(list client.ObjectList) map[string][]client.Object {
	all := map[string][]client.Object{}
	for _, o := range items(list) {
		all[o.GetNamespace()] = append(all[o.GetNamespace()], o)
	}
	return all
}

// items returns the objects of a list.
func items(list client.ObjectList) (all []client.Object) {
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		all = append(all, o.(client.Object))
		return nil
	})
	return all
}

// readOf reads a schedule with what it selects and owns.
func (f *Factory) readOf(ctx context.Context, name string, opts ...client.ListOption) (*v1alpha1.SnapshotSchedule, *inventory, error) {
	s, err := f.readSchedule(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	inv, err := f.readInventory(ctx, f.namespace, labels.Everything(), append(opts, managed, ofSchedule(name))...)
	return s, inv, err
}

// readClasses reads the VolumeSnapshotClasses. A user of a namespace may not be allowed
// to, which says nothing about the operator: then they are unknown.
func (f *Factory) readClasses(ctx context.Context) (snapshots.Classes, error) {
	list := &snapshotv1.VolumeSnapshotClassList{}
	err := f.list(ctx, list)
	if apierrors.IsForbidden(err) {
		if !f.classesDenied { // its message names the user, the verb and the resource
			f.warn("%s: assuming that the operator finds a VolumeSnapshotClass for each PVC", err)
		}
		f.classesDenied = true
		return snapshots.Classes{}, nil
	}
	return snapshots.Classes{Known: err == nil, All: items(list)}, err
}

// readOrigin reads the ClusterSnapshotSchedule of a schedule's name, and the namespace. A
// user of a namespace may not be allowed to: then nobody is assumed to have confirmed a
// child, which only delays deletes.
func readOrigin(ctx context.Context, c client.Reader, s *v1alpha1.SnapshotSchedule) ([]client.Object, error) {
	var known []client.Object
	parent, namespace := snapshots.OriginNames(s)
	for _, o := range []client.Object{parent, namespace} {
		switch err := c.Get(ctx, client.ObjectKeyFromObject(o), o); {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			return known, nil
		case err != nil:
			return nil, err
		}
		known = append(known, o)
	}
	return known, nil
}

// judge returns the judge of a schedule.
func (inv *inventory) judge(s *v1alpha1.SnapshotSchedule) (*snapshots.Judge, error) {
	return snapshots.NewJudge(scheme, s, inv.classes, inv.origin...)
}

// judged returns a schedule's judge, and iterates over its series with what the operator
// would do about each now. Series of other owners are left out.
func (inv *inventory) judged(
	s *v1alpha1.SnapshotSchedule, now time.Time,
) (*snapshots.Judge, iter.Seq2[*series, *snapshots.Judgment], error) {
	judge, err := inv.judge(s)
	if err != nil {
		return nil, nil, err
	}
	return judge, func(yield func(*series, *snapshots.Judgment) bool) {
		for _, of := range inv.seriesOf(s, judge.Selects) {
			d := judge.Judge(now, of.mapKey, of.claim, of.snapshots, of.restores)
			if (of.state(judge.Selects) == stateSelected || len(d.Outputs) > 0) && !yield(of, &d) {
				return
			}
		}
	}, nil
}

// seriesOf returns the series of a schedule: those of the PVCs that it selects,
// those of PVCs that are gone, and those of PVCs that it does not select, each by
// name. What only refers to the schedule is among them.
func (inv *inventory) seriesOf(s *v1alpha1.SnapshotSchedule, selects func(*corev1.PersistentVolumeClaim) bool) []*series {
	byKey := map[string][]client.Object{}
	for _, v := range inv.snapshots[s.Namespace] {
		if v.GetLabels()[v1alpha1.LabelSchedule] == s.Name || snapshots.Refers(v, s) {
			key := cmp.Or(v.GetLabels()[v1alpha1.LabelMapKey], inv.sourceUID(v))
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
	name := sourceName(v)
	for _, claim := range inv.claims[v.GetNamespace()] {
		if claim.GetName() == name {
			return string(claim.GetUID())
		}
	}
	return ""
}

// sourceName returns the name of the PVC that a snapshot was taken of; empty if it was
// imported.
func sourceName(v client.Object) string {
	return ptr.Deref(v.(*snapshotv1.VolumeSnapshot).Spec.Source.PersistentVolumeClaimName, "")
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
		if name := sourceName(v); name != "" {
			return name
		}
	}
	return s.mapKey
}
