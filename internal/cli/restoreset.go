// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/restore"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// chooseSet returns the snapshots of all PVCs of a schedule, and prints them with
// the skew between them.
func (r *restoration) chooseSet(ctx context.Context, name string) ([]*snapshotv1.VolumeSnapshot, error) {
	all := &snapshotv1.VolumeSnapshotList{}
	if err := Pages(ctx, r.client, all, client.InNamespace(r.namespace), client.MatchingLabels{v1alpha1.LabelSchedule: name}); err != nil {
		return nil, err
	}
	claims, err := r.selectedBy(ctx, name, len(all.Items) > 0)
	if err != nil {
		return nil, err
	}
	set := restore.SetAt(all.Items, claims, r.asOf, r.now)
	if len(set.Members) == 0 {
		return nil, fmt.Errorf("SnapshotSchedule %s has no ready snapshots at or before %s%s", name, timestamp(r.asOf), reasons(set.Missing))
	}
	if err := r.printSet(&set); err != nil {
		return nil, err
	}
	if len(set.Missing) > 0 && !r.flags.allowIncomplete {
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
func (r *restoration) selectedBy(ctx context.Context, name string, hasSnapshots bool) ([]corev1.PersistentVolumeClaim, error) {
	s, err := readSchedule(ctx, r.client, r.namespace, name)
	if apierrors.IsNotFound(err) && hasSnapshots {
		r.warn("SnapshotSchedule %s does not exist: whether PVCs are missing in the set is unknown", name)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	judge, err := snapshots.NewJudge(scheme, s, snapshots.Classes{})
	if err != nil {
		r.warn("the spec of SnapshotSchedule %s is invalid: whether PVCs are missing in the set is unknown", name)
		return nil, nil //nolint:nilerr // the snapshots can be restored all the same
	}
	claims := &corev1.PersistentVolumeClaimList{}
	if err := Pages(ctx, r.client, claims, client.InNamespace(r.namespace)); err != nil {
		return nil, err
	}
	var selected []corev1.PersistentVolumeClaim
	for i := range claims.Items {
		if judge.Selects(&claims.Items[i]) {
			selected = append(selected, claims.Items[i])
		}
	}
	return selected, nil
}

func (r *restoration) printSet(set *restore.Set) error {
	table := NewTable("PVC", "TIME", "BEFORE LATEST", "SNAPSHOT")
	latest := set.Latest()
	for _, m := range set.Members {
		table.Row(m.Claim, timestamp(m.Time), duration.HumanDuration(latest.Sub(m.Time)), m.Snapshot.Name)
	}
	out := r.tableOut()
	if err := r.flags.output.PrintTable(out, table); err != nil {
		return err
	}
	fmt.Fprintf(out, "Skew: %s between the earliest and the latest of %s\n",
		duration.HumanDuration(set.Skew()), plural(len(set.Members), "snapshot"))
	for _, m := range set.Missing {
		say(out, fmt.Sprintf("Missing: %s: %s", m.Claim, m.Reason))
	}
	for _, l := range set.LeftOut {
		say(out, fmt.Sprintf("Left out: %s: %s", l.Claim, l.Reason))
	}
	return nil
}

// reasons lists PVCs without a snapshot.
func reasons(all []restore.Absent) string {
	var text strings.Builder
	for _, a := range all {
		fmt.Fprintf(&text, "; %s: %s", a.Claim, a.Reason)
	}
	return text.String()
}
