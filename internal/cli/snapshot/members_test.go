// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
)

// A VolumeSnapshot that only names a ready group snapshot as its owner, which whoever creates it can, is none of its members.
//
// Contract: GRP-3.
func TestNoMemberByItsOwnerAlone(t *testing.T) {
	for name, c := range map[string]struct {
		group *string
		done  bool
	}{
		"a member":      {ptr.To("g"), true},
		"an owner only": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := clitest.Schedule("app", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", Group: &v1alpha1.Group{ByLabel: "db"}})
			claim := clitest.Claim("data", map[string]string{"db": "x"})
			group, members := clitest.Group(t, s, "g", clitest.Start, claim)
			member := members[0].(*snapshotv1.VolumeSnapshot)
			member.Name, member.Status.VolumeGroupSnapshotName = "m", c.group
			r, out := seeing(t, s, group.Labels[v1alpha1.LabelMapKey], untilReady, group, member)
			r.see(t.Context(), group, false)
			if done := len(r.waiting()) == 0; done != c.done {
				t.Errorf("done: %v; it says %s", done, out)
			}
		})
	}
}
