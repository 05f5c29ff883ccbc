// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package ahead

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// Groups by another label have other keys, like PVCs without groups.
func TestPreviewCountsWhatASwitchOfGroupsLeavesBehind(t *testing.T) {
	by := func(label string) *v1alpha1.Group { return &v1alpha1.Group{ByLabel: label} }
	for name, test := range map[string]struct {
		before, after *v1alpha1.Group
		want          int
	}{
		"none": {}, "the same": {by("db"), by("db"), 0}, "to groups": {nil, by("db"), 1}, "back": {by("db"), nil, 1}, "another label": {by("db"), by("app"), 1},
	} {
		now := clitest.Start.Add(30 * time.Hour)
		spec := v1alpha1.SnapshotScheduleSpec{
			Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}}, SnapshotInterval: "24h", Group: test.before,
		}
		present := clitest.Schedule("s", spec)
		future := clitest.Schedule("s", spec)
		future.Spec.Group = test.after
		data := clitest.Claim("data", map[string]string{"app": "db", "db": "one"})
		inv := &view.Inventory{Claims: map[string][]client.Object{"shop": {data}}, Groups: map[string][]client.Object{}, Members: map[string][]client.Object{}}
		if test.before == nil {
			inv.Snapshots = map[string][]client.Object{"shop": {clitest.Snapshot(present, data, clitest.Start.Add(24*time.Hour))}}
		} else {
			v, members := clitest.Group(t, present, "g", clitest.Start.Add(24*time.Hour), data)
			inv.Groups["shop"], inv.Members["shop"] = []client.Object{v}, members
		}
		v := Variants{Present: present, Future: future}.Recorded(now, nil)
		p, err := PreviewOf(v, inv, now, now.Add(time.Hour))
		if err != nil {
			t.Fatal(name, err)
		}
		if got := p.LeftBehind(v); got != test.want {
			t.Errorf("%s: %d are left behind, want %d", name, got, test.want)
		}
	}
}

// What a switch to groups does depends on group snapshots, too, although the present schedule takes none.
func TestPreviewOfASwitchToGroupsNeedsGroups(t *testing.T) {
	spec := v1alpha1.SnapshotScheduleSpec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}}, SnapshotInterval: "24h",
	}
	present, future := clitest.Schedule("s", spec), clitest.Schedule("s", spec)
	future.Spec.Group = &v1alpha1.Group{}
	for after, want := range map[*v1alpha1.SnapshotSchedule]bool{present: false, future: true, nil: false} {
		needed := false
		inv := &view.Inventory{NeedsGroups: func() { needed = true }}
		if _, err := PreviewOf(Variants{Present: present, Future: after}, inv, clitest.Start, clitest.Start.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if needed != want {
			t.Errorf("after %v: needed: %t, want %t", after != nil && after.Spec.Group != nil, needed, want)
		}
	}
}
