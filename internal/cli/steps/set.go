// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"fmt"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// chooseSet returns the snapshots of all PVCs of a schedule, and prints them with
// the skew between them.
func (r *Choice) chooseSet(ctx context.Context, name string) ([]*snapshotv1.VolumeSnapshot, error) {
	all := &snapshotv1.VolumeSnapshotList{}
	if err := r.Factory.List(ctx, all, client.InNamespace(r.Factory.Namespace), view.OfSchedule(name)); err != nil {
		return nil, err
	}
	ofGroups, err := r.groupMembers(ctx, name)
	if err != nil {
		return nil, err
	}
	all.Items = append(all.Items, ofGroups...)
	claims, err := r.selectedBy(ctx, name, len(all.Items) > 0)
	if err != nil {
		return nil, err
	}
	set := recovery.SetAt(all.Items, claims, r.asOf, r.now)
	if len(set.Members) == 0 {
		return nil, fmt.Errorf("SnapshotSchedule %s has no ready snapshots at or before %s%s", name, term.Timestamp(r.asOf), reasons(set.Missing))
	}
	if err := r.printSet(&set); err != nil {
		return nil, err
	}
	if len(set.Missing) > 0 && !r.AllowIncomplete {
		return nil, fmt.Errorf("the set is incomplete; --allow-incomplete restores the rest%s", reasons(set.Missing))
	}
	chosen := make([]*snapshotv1.VolumeSnapshot, len(set.Members))
	for i := range set.Members {
		chosen[i] = set.Members[i].Snapshot
	}
	return chosen, nil
}

// selectedBy returns the PVCs that a schedule selects. A schedule that is gone, or
// whose spec is invalid, may have left snapshots.
func (r *Choice) selectedBy(ctx context.Context, name string, hasSnapshots bool) ([]*corev1.PersistentVolumeClaim, error) {
	s, err := view.ReadSchedule(ctx, r.Factory, name)
	if apierrors.IsNotFound(err) && hasSnapshots {
		r.Factory.Warn("SnapshotSchedule %s does not exist: whether PVCs are missing in the set is unknown", name)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	origin, err := view.ReadOrigin(ctx, r.Factory.Client, s)
	if err != nil {
		return nil, err
	}
	judge, err := snapshots.NewJudge(term.Scheme, s, snapshots.Classes{}, origin...)
	if err != nil {
		r.Factory.Warn("the spec of SnapshotSchedule %s is invalid: whether PVCs are missing in the set is unknown", name)
		return nil, nil //nolint:nilerr // the snapshots can be restored all the same
	}
	claims := &corev1.PersistentVolumeClaimList{}
	if err := r.Factory.List(ctx, claims, client.InNamespace(r.Factory.Namespace)); err != nil {
		return nil, err
	}
	var selected []*corev1.PersistentVolumeClaim
	for i := range claims.Items {
		if judge.Selects(&claims.Items[i]) {
			selected = append(selected, &claims.Items[i])
		}
	}
	return selected, nil
}

func (r *Choice) printSet(set *recovery.Set) error {
	table := term.NewTable("PVC", "TIME", "BEFORE LATEST", "SNAPSHOT")
	latest := set.Latest()
	for _, m := range set.Members {
		table.Row(m.Claim, term.Timestamp(m.Time), term.Rounded(latest.Sub(m.Time)), m.Snapshot.Name)
	}
	out := r.Factory.Out
	if r.Output.Format != "" { // which programs read
		out = r.Factory.ErrOut
	}
	if err := r.Output.PrintTable(out, table); err != nil {
		return err
	}
	if len(set.Members) > 1 {
		fmt.Fprintf(out, "Skew: %s between the earliest and the latest of %s\n",
			term.Rounded(set.Skew()), term.Plural(len(set.Members), "snapshot"))
	}
	for _, m := range set.Missing {
		term.Say(out, fmt.Sprintf("Missing: %s: %s", m.Claim, m.Reason))
	}
	for _, l := range set.LeftOut {
		term.Say(out, fmt.Sprintf("Left out: %s: %s", l.Claim, l.Reason))
	}
	return nil
}

// reasons lists PVCs without a snapshot.
func reasons(all []recovery.Absent) string {
	var text strings.Builder
	for _, a := range all {
		fmt.Fprintf(&text, "; %s: %s", a.Claim, a.Reason)
	}
	return text.String()
}
