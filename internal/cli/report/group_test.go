// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"golang.org/x/net/html"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/state"
)

// A group has one line in the timeline, and a row for each of its PVCs in the status.
func TestReportShowsTheSnapshotsOfAGroupAtItsPVCs(t *testing.T) {
	now := clitest.Start.Add(49 * time.Hour)
	s := clitest.Schedule("groups", v1alpha1.SnapshotScheduleSpec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
		Group:    &v1alpha1.Group{ByLabel: "db"}, SnapshotInterval: "24h", SnapshotTTL: "10d",
	})
	claim := func(name, db string) *corev1.PersistentVolumeClaim {
		return clitest.Claim(name, map[string]string{"app": "db", "db": db})
	}
	data, wal, other := claim("data", "one"), claim("wal", "one"), claim("other", "two")
	inv := &view.Inventory{
		Claims: map[string][]client.Object{"shop": {data, wal, other}}, Groups: map[string][]client.Object{}, Members: map[string][]client.Object{},
	}
	add := func(name string, slot time.Time, lacks string, of ...*corev1.PersistentVolumeClaim) {
		v, members := clitest.Group(t, s, name, slot, of...)
		members = slices.DeleteFunc(members, func(m client.Object) bool { return backup.ClaimName(m) == lacks })
		inv.Groups["shop"], inv.Members["shop"] = append(inv.Groups["shop"], v), append(inv.Members["shop"], members...)
	}
	add("one-failed", clitest.Start.Add(6*time.Hour), "", data) // before the other one joined
	inv.Groups["shop"][0].(*groupv1.VolumeGroupSnapshot).Status = nil
	add("one-going", clitest.Start.Add(12*time.Hour), "", data, wal)
	inv.Groups["shop"][1].SetDeletionTimestamp(term.TimeOf(now))
	add("one-whole", clitest.Start.Add(24*time.Hour), "", data, wal)
	add("one-incomplete", clitest.Start.Add(48*time.Hour), "wal", data, wal)
	add("two-whole", clitest.Start.Add(48*time.Hour), "", other)

	r := clusterReport{Coverage: protection.CoverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now), Schedules: []scheduleReport{{Status: state.StatusOf(s, inv, now)}}}
	if err := r.Schedules[0].lookAhead(s, inv, now, 0); err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := (&fullReport{Time: *term.TimeOf(now), Until: *term.TimeOf(now), Clusters: []clusterReport{r}}).writePage(&page); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(&page)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"data": {"one-failed", "one-going", "one-whole", "one-incomplete"}, "wal": {"one-going", "one-whole"}, "other": {"two-whole"}} {
		var got []string
		for _, row := range find(root, func(n *html.Node) bool { return n.Data == "tr" && attribute(n, "data-find") == "shop/groups "+name }) {
			for _, mark := range find(row, isMark) {
				got = append(got, strings.Split(textOf(mark), ", ")[0])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("PVC %s has the marks %v, want %v", name, got, want)
		}
	}
}
