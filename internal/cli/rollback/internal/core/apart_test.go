// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Each PVC goes back by itself, so those of a group may not come back as a group: a member may not be ready yet.
func TestApart(t *testing.T) {
	target := func(name, group string) *snapshotv1.VolumeSnapshot {
		v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon)}}
		if group != "" {
			v.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: groupv1.SchemeGroupVersion.String(), Kind: "VolumeGroupSnapshot", Name: group, UID: types.UID(group)},
			}
		}
		return v
	}
	const at = ", 2026-11-21T12:00:00Z"
	for name, test := range map[string]struct {
		data, log *snapshotv1.VolumeSnapshot
		want      string
	}{
		"of one group":              {data: target("a", "g"), log: target("b", "g")},
		"of no group":               {data: target("a", ""), log: target("b", "")},
		"an undo":                   {},
		"of two groups":             {target("a", "g"), target("b", "h"), "data of VolumeGroupSnapshot g" + at + "; log of VolumeGroupSnapshot h" + at},
		"one of a group, and alone": {target("a", "g"), target("b", ""), "data of VolumeGroupSnapshot g" + at + "; log of VolumeSnapshot b" + at},
	} {
		s := &State{Now: noon.Add(time.Hour), Claims: []*Claim{{Name: "data", Target: test.data}, {Name: "log", Target: test.log}}}
		if got := Apart(s); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
