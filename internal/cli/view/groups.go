// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// addElsewhere adds to each group of a schedule what its other groups have of the same PVCs.
func (inv *Inventory) addElsewhere(namespace string, all []*Series) {
	byClaim := map[types.UID][]client.Object{}
	for _, one := range all {
		for _, o := range one.Snapshots {
			for _, uid := range backup.ClaimsOf(o) {
				byClaim[uid] = append(byClaim[uid], o)
			}
		}
	}
	for _, one := range all {
		uids, known := map[types.UID]bool{}, map[client.Object]bool{}
		for _, claim := range one.claims {
			uids[claim.UID] = true
		}
		for _, o := range one.Snapshots {
			known[o] = true
			for _, uid := range backup.ClaimsOf(o) {
				uids[uid] = true
			}
		}
		for uid := range uids {
			for _, o := range byClaim[uid] {
				if !known[o] {
					known[o], one.elsewhere = true, append(one.elsewhere, o)
					one.Members = append(one.Members, snapshots.MembersOf(o.(*groupv1.VolumeGroupSnapshot), inv.Members[namespace])...)
				}
			}
		}
	}
}
