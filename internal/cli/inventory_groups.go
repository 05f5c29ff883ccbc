// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// addElsewhere adds to each group of a schedule what its other groups have of the same PVCs.
func (inv *inventory) addElsewhere(namespace string, all []*series) {
	byClaim := map[types.UID][]client.Object{}
	for _, one := range all {
		for _, o := range one.snapshots {
			for _, uid := range snapshots.ClaimsOf(o) {
				byClaim[uid] = append(byClaim[uid], o)
			}
		}
	}
	for _, one := range all {
		uids, known := map[types.UID]bool{}, map[client.Object]bool{}
		for _, claim := range one.claims {
			uids[claim.UID] = true
		}
		for _, o := range one.snapshots {
			known[o] = true
			for _, uid := range snapshots.ClaimsOf(o) {
				uids[uid] = true
			}
		}
		for uid := range uids {
			for _, o := range byClaim[uid] {
				if !known[o] {
					known[o], one.elsewhere = true, append(one.elsewhere, o)
					one.members = append(one.members, snapshots.MembersOf(o.(*groupv1.VolumeGroupSnapshot), inv.members[namespace])...)
				}
			}
		}
	}
}
