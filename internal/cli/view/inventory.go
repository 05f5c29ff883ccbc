// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Inventory is what was read of one or all namespaces.
type Inventory struct {
	Classes snapshots.Classes
	// Origins are those of the schedules that are judged, as far as they are known.
	Origins Origins
	// All are by namespace. members are those of groups.
	Claims, Snapshots, Groups, Members map[string][]client.Object
	// NeedsGroups is called for a schedule that takes group snapshots.
	NeedsGroups func()
}

// The snapshots to read: those of all schedules, or of one.
var Managed = client.HasLabels{v1alpha1.LabelMapKey}

// OfSchedule selects the snapshots of a schedule.
func OfSchedule(name string) client.MatchingLabels {
	return client.MatchingLabels{v1alpha1.LabelSchedule: name}
}

// ReadInventory reads the PVCs of a namespace (of all if it is empty) that match a
// selector, and the snapshots that match the options.
func ReadInventory(
	ctx context.Context, f *term.Factory, namespace string, claimSelector labels.Selector, opts ...client.ListOption,
) (*Inventory, error) {
	claims, found := &corev1.PersistentVolumeClaimList{}, &snapshotv1.VolumeSnapshotList{}
	if err := f.List(ctx, claims, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: claimSelector}); err != nil {
		return nil, err
	}
	if err := f.List(ctx, found, append(opts, client.InNamespace(namespace))...); err != nil {
		return nil, err
	}
	inv := &Inventory{Claims: byNamespace(claims), Snapshots: byNamespace(found), NeedsGroups: func() { warnOfGroups(f) }}
	var err error
	if inv.Groups, inv.Members, err = ReadGroups(ctx, f, namespace, opts...); err != nil {
		return nil, err
	}
	inv.Classes, err = ReadClasses(ctx, f)
	return inv, err
}

// ReadAbout reads what there is about some schedules of a namespace, or of all if it is empty: see ReadInventory.
func ReadAbout(
	ctx context.Context, f *term.Factory, namespace string, schedules []*v1alpha1.SnapshotSchedule, claims labels.Selector,
	opts ...client.ListOption,
) (*Inventory, error) {
	inv, err := ReadInventory(ctx, f, namespace, claims, append(opts, Managed)...)
	if err == nil {
		inv.Origins, err = ReadOrigins(ctx, f, schedules)
	}
	return inv, err
}

// Namespaces returns those in which there are snapshots.
func (inv *Inventory) Namespaces() map[string]bool {
	all := map[string]bool{}
	for namespace := range inv.Snapshots {
		all[namespace] = true
	}
	for namespace := range inv.Groups {
		all[namespace] = true
	}
	return all
}

// ReadGroups reads the group snapshots that match the options, and their members. A cluster
// that has no group snapshots has none, and a user may not be allowed to read them.
func ReadGroups(
	ctx context.Context, f *term.Factory, namespace string, opts ...client.ListOption,
) (groups, members map[string][]client.Object, err error) {
	found, of := &groupv1.VolumeGroupSnapshotList{}, &snapshotv1.VolumeSnapshotList{}
	switch err := f.List(ctx, found, append(opts, client.InNamespace(namespace))...); {
	case apierrors.IsForbidden(err):
		f.GroupsDenied = err
		return nil, nil, nil
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil, nil
	case err != nil || len(found.Items) == 0:
		return nil, nil, err
	}
	err = f.List(ctx, of, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelGroupSnapshot})
	return byNamespace(found), byNamespace(of), err
}

// warnOfGroups warns once if the group snapshots that there may be could not be read: without
// them, a prediction is wrong.
func warnOfGroups(f *term.Factory) {
	if f.GroupsDenied != nil { // its message names the user, the verb and the resource
		f.Warn("%s: group snapshots are left out, and everything that depends on them is wrong", f.GroupsDenied)
	}
	if f.GroupClassesDenied != nil {
		f.Warn("%s: assuming that the operator finds a VolumeGroupSnapshotClass for each group", f.GroupClassesDenied)
	}
	f.GroupsDenied, f.GroupClassesDenied = nil, nil
}

func byNamespace(list client.ObjectList) map[string][]client.Object {
	all := map[string][]client.Object{}
	for _, o := range Items(list) {
		all[o.GetNamespace()] = append(all[o.GetNamespace()], o)
	}
	return all
}

// Items returns the objects of a list.
func Items(list client.ObjectList) (all []client.Object) {
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		all = append(all, o.(client.Object))
		return nil
	})
	return all
}

// ReadOf reads a schedule with what it selects and owns.
func ReadOf(ctx context.Context, f *term.Factory, name string, opts ...client.ListOption) (*v1alpha1.SnapshotSchedule, *Inventory, error) {
	s, err := ReadSchedule(ctx, f, name)
	if err != nil {
		return nil, nil, err
	}
	inv, err := ReadAbout(ctx, f, f.Namespace, []*v1alpha1.SnapshotSchedule{s}, labels.Everything(), append(opts, OfSchedule(name))...)
	return s, inv, err
}

// ReadNamespaces reads the metadata of all namespaces.
func ReadNamespaces(ctx context.Context, f *term.Factory) ([]metav1.PartialObjectMetadata, error) {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	err := f.List(ctx, all)
	return all.Items, err
}

// Judge returns the judge of a schedule.
func (inv *Inventory) Judge(s *v1alpha1.SnapshotSchedule) (*snapshots.Judge, error) {
	return snapshots.NewJudge(term.Scheme, s, inv.Classes, inv.Origins.Of(s)...)
}

// DefaultReadyDeadline is that of snapshots about which no schedule decides.
const DefaultReadyDeadline = time.Hour

// Judged returns a schedule's judge, and iterates over its series with what the operator
// would do about each now. Series of other owners are left out.
func (inv *Inventory) Judged(
	s *v1alpha1.SnapshotSchedule, now time.Time,
) (*snapshots.Judge, iter.Seq2[*Series, *snapshots.Judgment], error) {
	judge, err := inv.Judge(s)
	if err != nil {
		return nil, nil, err
	}
	return judge, func(yield func(*Series, *snapshots.Judgment) bool) {
		for _, of := range inv.SeriesOf(s, judge) {
			d := judge.Judge(now, of.Judged())
			if (of.State(judge) == StateSelected || len(d.Outputs) > 0) && !yield(of, &d) {
				return
			}
		}
	}, nil
}

// SeriesOf returns the series of a schedule under some judges: those of the PVCs that one of
// them selects, those of PVCs that are gone, and those of PVCs that none selects, each by
// name; and those of groups. What only refers to the schedule is among them.
func (inv *Inventory) SeriesOf(s *v1alpha1.SnapshotSchedule, judges ...*snapshots.Judge) []*Series {
	inv.MayHaveGroups(s)
	byKey, restores := map[string]*Series{}, snapshots.Restores(s.Namespace, inv.Claims[s.Namespace])
	of := func(key string) *Series {
		if byKey[key] == nil {
			byKey[key] = &Series{MapKey: key, Restores: restores}
		}
		return byKey[key]
	}
	uids := map[types.UID]*corev1.PersistentVolumeClaim{}
	for _, o := range inv.Claims[s.Namespace] {
		claim := o.(*corev1.PersistentVolumeClaim)
		uids[claim.UID] = claim
		for _, judge := range judges {
			if judge != nil && judge.Selects(claim) {
				of(judge.Key(claim)).addClaim(claim)
			}
		}
	}
	for _, v := range inv.Snapshots[s.Namespace] {
		if v.GetLabels()[v1alpha1.LabelSchedule] == s.Name || snapshots.Refers(v, s) {
			one := of(cmp.Or(v.GetLabels()[v1alpha1.LabelMapKey], inv.sourceUID(v)))
			one.Snapshots = append(one.Snapshots, v)
			one.addClaim(uids[types.UID(one.MapKey)])
		}
	}
	for _, v := range inv.Groups[s.Namespace] {
		if v.GetLabels()[v1alpha1.LabelSchedule] == s.Name || snapshots.Refers(v, s) {
			one := of(v.GetLabels()[v1alpha1.LabelMapKey])
			one.Snapshots = append(one.Snapshots, v)
			group := v.(*groupv1.VolumeGroupSnapshot)
			one.Members = append(one.Members, snapshots.MembersOf(group, inv.Members[s.Namespace])...)
			for _, uid := range backup.ClaimsOf(group) {
				one.addClaim(uids[uid])
			}
		}
	}
	all := slices.Collect(maps.Values(byKey))
	inv.addElsewhere(s.Namespace, all)
	states := make(map[*Series]string, len(all))
	for _, one := range all {
		states[one] = one.State(judges...)
	}
	slices.SortFunc(all, func(a, b *Series) int {
		return cmp.Or(cmp.Compare(states[b], states[a]), cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.MapKey, b.MapKey))
	})
	return all
}

// MayHaveGroups says that group snapshots matter if a schedule takes them, or has some left.
func (inv *Inventory) MayHaveGroups(s *v1alpha1.SnapshotSchedule) {
	left := s.Status.Outputs.VolumeGroupSnapshots
	if (s.Spec.Group != nil || left != nil && left.Total > 0) && inv.NeedsGroups != nil {
		inv.NeedsGroups()
	}
}

// sourceUID returns the map key of the PVC that a snapshot without one names; empty if
// it is gone.
func (inv *Inventory) sourceUID(v client.Object) string {
	name := backup.ClaimName(v)
	for _, claim := range inv.Claims[v.GetNamespace()] {
		if claim.GetName() == name {
			return string(claim.GetUID())
		}
	}
	return ""
}
