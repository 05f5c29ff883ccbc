// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Whoever may create VolumeSnapshots can name any owner and set any label.
//
// Contract: GRP-3.
func TestIsMember(t *testing.T) {
	group := &groupv1.VolumeGroupSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nightly", UID: "group"}}
	for name, tc := range map[string]struct {
		namespace, status string
		owner             types.UID
		want              bool
	}{
		"one":                               {"shop", "nightly", "group", true},
		"only its status names the group":   {"shop", "nightly", "", false},
		"an earlier group of the name":      {"shop", "nightly", "before", false},
		"only its owner names the group":    {"shop", "", "group", false},
		"its status names another group":    {"shop", "weekly", "group", false},
		"in another namespace":              {"other", "nightly", "group", false},
		"neither, but it carries the label": {"shop", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
				Namespace: tc.namespace, Labels: map[string]string{v1alpha1.LabelGroupSnapshot: "nightly"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "VolumeGroupSnapshot", Name: "nightly", UID: tc.owner}},
			}}
			v.Status = &snapshotv1.VolumeSnapshotStatus{VolumeGroupSnapshotName: ptr.To(tc.status)}
			if got := IsMember(v, group); got != tc.want {
				t.Errorf("%t", got)
			}
		})
	}
}
