// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"golang.org/x/net/html"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// testGroup is a ready group snapshot of PVCs that was taken at its slot, and its members.
func testGroup(
	t *testing.T, s *v1alpha1.SnapshotSchedule, name string, slot time.Time, of ...*corev1.PersistentVolumeClaim,
) (v *groupv1.VolumeGroupSnapshot, members []client.Object) {
	t.Helper()
	judge, err := snapshots.NewJudge(term.Scheme, s, anyClass)
	if err != nil {
		t.Fatal(err)
	}
	record := map[string]types.UID{}
	for _, c := range of {
		record[c.Name] = c.UID
	}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	v = &groupv1.VolumeGroupSnapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: name,
		Labels:          map[string]string{v1alpha1.LabelMapKey: judge.Key(of[0]), v1alpha1.LabelSchedule: s.Name},
		Annotations:     map[string]string{v1alpha1.AnnotationScheduledAt: slot.Format(time.RFC3339), v1alpha1.AnnotationClaims: string(text)},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))},
	}}
	return v, snapshots.Complete(v, metav1.NewTime(slot))
}

// A group has one line in the timeline, and a row for each of its PVCs in the status.
func TestReportShowsTheSnapshotsOfAGroupAtItsPVCs(t *testing.T) {
	now := start.Add(49 * time.Hour)
	s := testSchedule("groups", v1alpha1.SnapshotScheduleSpec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
		Group:    &v1alpha1.Group{ByLabel: "db"}, SnapshotInterval: "24h", SnapshotTTL: "10d",
	})
	claim := func(name, db string) *corev1.PersistentVolumeClaim {
		return testClaim(name, map[string]string{"app": "db", "db": db})
	}
	data, wal, other := claim("data", "one"), claim("wal", "one"), claim("other", "two")
	inv := &inventory{
		claims: map[string][]client.Object{"shop": {data, wal, other}}, groups: map[string][]client.Object{}, members: map[string][]client.Object{},
	}
	add := func(name string, slot time.Time, lacks string, of ...*corev1.PersistentVolumeClaim) {
		v, members := testGroup(t, s, name, slot, of...)
		members = slices.DeleteFunc(members, func(m client.Object) bool { return sourceName(m) == lacks })
		inv.groups["shop"], inv.members["shop"] = append(inv.groups["shop"], v), append(inv.members["shop"], members...)
	}
	add("one-failed", start.Add(6*time.Hour), "", data) // before the other one joined
	inv.groups["shop"][0].(*groupv1.VolumeGroupSnapshot).Status = nil
	add("one-going", start.Add(12*time.Hour), "", data, wal)
	inv.groups["shop"][1].SetDeletionTimestamp(term.TimeOf(now))
	add("one-whole", start.Add(24*time.Hour), "", data, wal)
	add("one-incomplete", start.Add(48*time.Hour), "wal", data, wal)
	add("two-whole", start.Add(48*time.Hour), "", other)

	r := clusterReport{Coverage: coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now), Schedules: []scheduleReport{{Status: statusOf(s, inv, now)}}}
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
			for _, mark := range find(row, func(n *html.Node) bool { return n.Data == "li" }) {
				got = append(got, strings.Split(textOf(mark), ", ")[1])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("PVC %s has the marks %v, want %v", name, got, want)
		}
	}
}

// A schedule that took groups once may have group snapshots left, which go with it.
func TestGroupsThatMayBeLeftAreMissedAloud(t *testing.T) {
	s := testSchedule("single", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"})
	for left, want := range map[int32]int{0: 0, 2: 1} {
		s.Status.Outputs.VolumeGroupSnapshots = &v1alpha1.OutputCount{Total: left}
		told := 0
		inv := &inventory{needsGroups: func() { told++ }}
		if inv.seriesOf(s); told != want {
			t.Errorf("%d group snapshots are left: told %d times, want %d", left, told, want)
		}
	}
}

// A driver may have a VolumeGroupSnapshotClass only: what its groups hold is covered, and may be a gap.
func TestCoverageOfGroupsNeedsNoVolumeSnapshotClass(t *testing.T) {
	s := testSchedule("groups", v1alpha1.SnapshotScheduleSpec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}}, Group: &v1alpha1.Group{}, SnapshotInterval: "24h",
	})
	data := testClaim("data", map[string]string{"app": "db"})
	data.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "block.example.com"}
	class := &groupv1.VolumeGroupSnapshotClass{ObjectMeta: metav1.ObjectMeta{
		Name: "fast", Annotations: map[string]string{"groupsnapshot.storage.kubernetes.io/is-default-class": "true"},
	}, Driver: "block.example.com"}
	v, members := testGroup(t, s, "g", start.Add(24*time.Hour), data)
	inv := &inventory{
		classes: snapshots.Classes{Known: true, All: []client.Object{class}},
		claims:  map[string][]client.Object{"shop": {data}}, groups: map[string][]client.Object{"shop": {v}}, members: map[string][]client.Object{"shop": members},
	}
	for after, want := range map[time.Duration]protection{25 * time.Hour: protected, 100 * time.Hour: stale} {
		if got := coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, start.Add(after)).Claims[0]; got.Protection != want {
			t.Errorf("after %s: %s (%s), want %s", after, got.Protection, got.Reason, want)
		}
	}
}

// Of a PVC without the label of its group no snapshot is ever taken.
func TestTimelineOfAPVCWithoutAGroupHasNoNextSlot(t *testing.T) {
	s := testSchedule("groups", v1alpha1.SnapshotScheduleSpec{Group: &v1alpha1.Group{ByLabel: "db"}, SnapshotInterval: "24h"})
	lone, member := testClaim("lone", nil), testClaim("member", map[string]string{"db": "one"})
	inv := &inventory{claims: map[string][]client.Object{"shop": {lone, member}}}
	line, err := timelineOf(s, inv, "", start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range line.Rows {
		if got, want := len(row.Next) > 0, row.Claim == "member"; got != want {
			t.Errorf("PVC %s has next slots %v", row.Claim, row.Next)
		}
	}
	if len(line.Rows) != 2 {
		t.Errorf("%d rows", len(line.Rows))
	}
}

// Groups by another label have other keys, like PVCs without groups.
func TestPreviewCountsWhatASwitchOfGroupsLeavesBehind(t *testing.T) {
	by := func(label string) *v1alpha1.Group { return &v1alpha1.Group{ByLabel: label} }
	for name, test := range map[string]struct {
		before, after *v1alpha1.Group
		want          int
	}{
		"none": {}, "the same": {by("db"), by("db"), 0}, "to groups": {nil, by("db"), 1}, "back": {by("db"), nil, 1}, "another label": {by("db"), by("app"), 1},
	} {
		now := start.Add(30 * time.Hour)
		spec := v1alpha1.SnapshotScheduleSpec{
			Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}}, SnapshotInterval: "24h", Group: test.before,
		}
		present := testSchedule("s", spec)
		future := testSchedule("s", spec)
		future.Spec.Group = test.after
		data := testClaim("data", map[string]string{"app": "db", "db": "one"})
		inv := &inventory{claims: map[string][]client.Object{"shop": {data}}, groups: map[string][]client.Object{}, members: map[string][]client.Object{}}
		if test.before == nil {
			inv.snapshots = map[string][]client.Object{"shop": {testSnapshot(present, data, start.Add(24*time.Hour))}}
		} else {
			v, members := testGroup(t, present, "g", start.Add(24*time.Hour), data)
			inv.groups["shop"], inv.members["shop"] = []client.Object{v}, members
		}
		v := variants{present: present, future: future}.recorded(now, nil)
		p, err := previewOf(v, inv, now, now.Add(time.Hour))
		if err != nil {
			t.Fatal(name, err)
		}
		if got := p.leftBehind(v); got != test.want {
			t.Errorf("%s: %d are left behind, want %d", name, got, test.want)
		}
	}
}

// Another schedule that cannot snapshot a PVC for want of a VolumeSnapshotClass does not hide how its groups protect it.
func TestCoverageOfGroupsDespiteAScheduleThatFindsNoClass(t *testing.T) {
	s := testSchedule("groups", v1alpha1.SnapshotScheduleSpec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}}, Group: &v1alpha1.Group{}, SnapshotInterval: "24h",
	})
	all := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"})
	data := testClaim("data", map[string]string{"app": "db"})
	data.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "block.example.com"}
	class := &groupv1.VolumeGroupSnapshotClass{ObjectMeta: metav1.ObjectMeta{
		Name: "fast", Annotations: map[string]string{"groupsnapshot.storage.kubernetes.io/is-default-class": "true"},
	}, Driver: "block.example.com"}
	v, members := testGroup(t, s, "g", start.Add(24*time.Hour), data)
	inv := &inventory{
		classes: snapshots.Classes{Known: true, All: []client.Object{class}},
		claims:  map[string][]client.Object{"shop": {data}}, groups: map[string][]client.Object{"shop": {v}}, members: map[string][]client.Object{"shop": members},
	}
	for after, want := range map[time.Duration]protection{25 * time.Hour: protected, 100 * time.Hour: stale} {
		for _, found := range [][]*v1alpha1.SnapshotSchedule{{s, all}, {all, s}} {
			if got := coverageOf(found, inv, start.Add(after)).Claims[0]; got.Protection != want {
				t.Errorf("after %s: %s (%s), want %s", after, got.Protection, got.Reason, want)
			}
		}
	}
}

// A PVC that cannot be snapshotted itself is skipped, although its group is not.
func TestCoverageOfAGroupSkipsThePVCThatIsNotBound(t *testing.T) {
	s := testSchedule("groups", v1alpha1.SnapshotScheduleSpec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}}, Group: &v1alpha1.Group{}, SnapshotInterval: "24h",
	})
	data, wal := testClaim("data", map[string]string{"app": "db"}), testClaim("wal", map[string]string{"app": "db"})
	wal.Status.Phase = corev1.ClaimPending
	v, members := testGroup(t, s, "g", start.Add(24*time.Hour), data)
	inv := &inventory{
		classes: anyClass, claims: map[string][]client.Object{"shop": {data, wal}},
		groups: map[string][]client.Object{"shop": {v}}, members: map[string][]client.Object{"shop": members},
	}
	all := coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, start.Add(25*time.Hour)).Claims
	if all[0].Protection != protected || all[1].Protection != skipped {
		t.Errorf("data: %s (%s), wal: %s (%s)", all[0].Protection, all[0].Reason, all[1].Protection, all[1].Reason)
	}
}

// What a switch to groups does depends on group snapshots, too, although the present schedule takes none.
func TestPreviewOfASwitchToGroupsNeedsGroups(t *testing.T) {
	spec := v1alpha1.SnapshotScheduleSpec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}}, SnapshotInterval: "24h",
	}
	present, future := testSchedule("s", spec), testSchedule("s", spec)
	future.Spec.Group = &v1alpha1.Group{}
	for after, want := range map[*v1alpha1.SnapshotSchedule]bool{present: false, future: true, nil: false} {
		told := false
		inv := &inventory{needsGroups: func() { told = true }}
		if _, err := previewOf(variants{present: present, future: after}, inv, start, start.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if told != want {
			t.Errorf("after %v: told: %t, want %t", after != nil && after.Spec.Group != nil, told, want)
		}
	}
}
