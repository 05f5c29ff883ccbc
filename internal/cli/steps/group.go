// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// chooseGroup returns the members of a group snapshot, one for each PVC of its record. Without
// --allow-incomplete, each must be ready.
func (r *Choice) chooseGroup(ctx context.Context, v *groupv1.VolumeGroupSnapshot) (chosen []*snapshotv1.VolumeSnapshot, err error) {
	if v.DeletionTimestamp != nil {
		return nil, view.BeingDeleted(v)
	}
	all, err := r.membersOf(ctx, v)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(backup.ClaimsOf(v))) {
		switch of := all[name]; {
		case len(of) != 1:
			missing = append(missing, fmt.Sprintf("%s: it has %s", name, term.Plural(len(of), "VolumeSnapshot")))
		case of[0].DeletionTimestamp != nil:
			missing = append(missing, name+": its VolumeSnapshot is being deleted")
		case !backup.ReadyToUse(of[0]):
			missing = append(missing, name+": its VolumeSnapshot is not ready to use")
		default:
			chosen = append(chosen, of[0])
		}
	}
	switch why := strings.Join(missing, "; "); {
	case len(chosen) == 0:
		return nil, fmt.Errorf("VolumeGroupSnapshot %s holds no data that can be restored: %s", v.Name, why)
	case len(missing) > 0 && !r.AllowIncomplete:
		return nil, fmt.Errorf("VolumeGroupSnapshot %s is incomplete; --allow-incomplete restores the rest: %s", v.Name, why)
	}
	for _, m := range missing {
		r.Factory.Warn("missing: %s", m)
	}
	return chosen, nil
}

// membersOf returns the members of a group snapshot by the PVC that each was taken of, whether
// or not the operator has labeled them.
func (r *Choice) membersOf(ctx context.Context, v *groupv1.VolumeGroupSnapshot) (map[string][]*snapshotv1.VolumeSnapshot, error) {
	list := &snapshotv1.VolumeSnapshotList{}
	if err := r.Factory.List(ctx, list, client.InNamespace(v.Namespace)); err != nil {
		return nil, err
	}
	all := map[string][]*snapshotv1.VolumeSnapshot{}
	for i := range list.Items {
		if m := &list.Items[i]; snapshots.IsMemberOf(m, v) {
			all[backup.ClaimName(m)] = append(all[backup.ClaimName(m)], m)
		}
	}
	return all, nil
}

// groupMembers returns the members of the group snapshots of a schedule as snapshots of their
// PVCs under it: with the labels that single ones have.
func (r *Choice) groupMembers(ctx context.Context, schedule string) (all []snapshotv1.VolumeSnapshot, err error) {
	groups, members, err := view.ReadGroups(ctx, r.Factory, r.Factory.Namespace, view.OfSchedule(schedule))
	for _, o := range groups[r.Factory.Namespace] {
		v := o.(*groupv1.VolumeGroupSnapshot)
		for _, m := range snapshots.MembersOf(v, members[r.Factory.Namespace]) {
			one := m.DeepCopyObject().(*snapshotv1.VolumeSnapshot)
			if uid := backup.ClaimsOf(v)[backup.ClaimName(m)]; uid != "" && v.DeletionTimestamp == nil {
				one.Labels = map[string]string{v1alpha1.LabelMapKey: string(uid), v1alpha1.LabelSchedule: schedule}
				all = append(all, *one)
			}
		}
	}
	return all, err
}
