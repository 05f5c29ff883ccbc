// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"bytes"
	"slices"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// previewed returns the preview of a change of the scenario's schedule with tiers.
func previewed(t *testing.T, s *clitest.Scenario, v ahead.Variants) *ahead.Preview {
	t.Helper()
	if v.Future != nil {
		var err error
		if v.Steady, err = ahead.SteadyStateOf(&v.Future.Spec, s.Now); err != nil {
			t.Fatal(err)
		}
	}
	p, err := ahead.PreviewOf(v, s.Inv, s.Now, s.Now.Add(30*term.Day))
	if err != nil {
		t.Fatal(err)
	}
	warn(p, v)
	return p
}

// The garbage collector does not ask who controls a snapshot.
func TestPreviewOfADeletionFollowsEveryReference(t *testing.T) {
	s := clitest.NewScenario()
	deleted := func() (n int) {
		for _, c := range previewed(t, s, ahead.Variants{Present: s.Tiers, Future: nil}).Claims {
			n += c.Now
		}
		return n
	}
	controlled := deleted()
	for _, o := range s.Inv.Snapshots["shop"] {
		refs := slices.Clone(o.GetOwnerReferences())
		for i := range refs {
			refs[i].Controller = nil
		}
		o.SetOwnerReferences(refs)
	}
	if referring := deleted(); controlled == 0 || referring != controlled {
		t.Errorf("%d that the schedule controls are deleted with it, and %d that only refer to it", controlled, referring)
	}
}

// Under deletionPolicy Orphan, those snapshots are deleted with the schedule that still
// have a reference to it. An edit of the policy deletes none.
func TestPreviewOfOrphan(t *testing.T) {
	s := clitest.NewScenario()
	orphan := s.Tiers.DeepCopy()
	orphan.Spec.DeletionPolicy, orphan.Generation = v1alpha1.DeletionOrphan, 2
	count := func(v ahead.Variants) (deleted, counted int, warnings []string) {
		p := previewed(t, s, v)
		for _, c := range p.Claims {
			deleted, counted = deleted+c.Now, counted+c.Snapshots
		}
		return deleted, counted, p.Warnings
	}
	asItIs, all, _ := count(ahead.Variants{Present: s.Tiers, Future: s.Tiers})
	if edited, counted, _ := count(ahead.Variants{Present: s.Tiers, Future: orphan}); edited != asItIs || counted != all {
		t.Errorf("an edit of the policy deletes %d of %d snapshots now, without it %d of %d", edited, counted, asItIs, all)
	}
	owned := s.Inv.Snapshots["shop"]
	for left := len(owned); left >= 0; left = left/2 - 1 {
		for _, o := range owned[left:] {
			o.SetOwnerReferences(nil)
		}
		want := 0
		for _, o := range owned[:left] {
			if metav1.IsControlledBy(o, orphan) {
				want++
			}
		}
		deleted, counted, warnings := count(ahead.Variants{Present: orphan, Future: nil})
		warned := slices.Contains(warnings, "the operator is still removing owner references: wait until status.observedGeneration is 2")
		if deleted != want || counted != all || warned != (want > 0) {
			t.Errorf("%d with references: %d of %d deleted, want %d of %d; warnings %q", left, deleted, counted, want, all, warnings)
		}
		if edited, _, _ := count(ahead.Variants{Present: orphan, Future: orphan}); edited != asItIs {
			t.Errorf("%d with references: retention deletes %d now, want %d", left, edited, asItIs)
		}
	}
}

func TestPreview(t *testing.T) {
	s := clitest.NewScenario()
	longer := s.Tiers.DeepCopy()
	longer.Spec.Retention.Keep = v1alpha1.Keep{Last: 100}
	shorter := s.Tiers.DeepCopy()
	shorter.Spec.Retention.Keep = v1alpha1.Keep{Last: 2, Daily: 2}
	shorter.Spec.Selector = v1alpha1.LabelSelector{}
	orphaned := s.Tiers.DeepCopy()
	orphaned.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
	adopting := clitest.Schedule("old", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1d", SnapshotTTL: "1d"})
	owned := s.Inv.Snapshots["shop"]
	unowned := &clitest.Scenario{Now: s.Now, Inv: &view.Inventory{Claims: s.Inv.Claims, Snapshots: map[string][]client.Object{}}}
	for _, o := range owned {
		o = o.DeepCopyObject().(client.Object)
		o.SetOwnerReferences(nil)
		unowned.Inv.Snapshots["shop"] = append(unowned.Inv.Snapshots["shop"], o)
	}
	for name, test := range map[string]struct {
		change ahead.Variants
		found  bool
		want   string
	}{
		"as it is": {ahead.Variants{Present: s.Tiers, Future: s.Tiers}, true, `
shop/tiers as it is: every 6h, PVCs with app=db, last: 2, daily: 7, weekly: 3

PVC    SELECTED   SNAPSHOTS   DELETED NOW   WITHIN 30D   AT PRESENT
db-0   yes        41          33            40           40
db-1   yes        3           0             3            3
db-2   yes        0           0             0            0
db-9   no         1           0             0            0

SNAPSHOT              DELETED   REASON        AT PRESENT
db-0-20260121060000   now       NotSelected   now
db-0-20260121120000   now       NotSelected   now
db-0-20260121180000   now       NotSelected   now
db-0-20260122000000   now       NotSelected   now
db-0-20260122060000   now       NotSelected   now
db-0-20260122120000   now       NotSelected   now
db-0-20260122180000   now       NotSelected   now
db-0-20260123000000   now       NotSelected   now
db-0-20260123060000   now       NotSelected   now
db-0-20260123120000   now       NotSelected   now
… and 33 more; -o wide lists all.

Of 45 existing snapshots, 33 would be deleted now and 43 within 30d.
Steady state: at most 10 snapshots per PVC.
`},
		"an edit that deletes": {ahead.Variants{Present: s.Tiers, Future: shorter}, true, `
shop/tiers would change: every 6h, PVCs with app=db, last: 2, daily: 7, weekly: 3

PVC       SELECTED      SNAPSHOTS   DELETED NOW   WITHIN 30D   AT PRESENT
cache-0   yes (added)   0           0             0            0
db-0      yes           41          38            40           40
db-1      yes           3           0             3            3
db-2      yes           0           0             0            0
scratch   yes (added)   0           0             0            0
web-0     yes (added)   0           0             0            0
db-9      no            1           0             0            0

SNAPSHOT              DELETED   REASON        AT PRESENT
db-0-20260125180000   now       NotSelected   9d
db-0-20260126180000   now       NotSelected   2d
db-0-20260127180000   now       NotSelected   3d
db-0-20260128180000   now       NotSelected   4d
db-0-20260129180000   now       NotSelected   5d
db-0-20260130180000   24h       NotSelected   6d
db-1-20260129180000   24h       NotSelected   6d
db-1-20260130120000   24h       Superseded    6d
… and 35 more; -o wide lists all.

Of 45 existing snapshots, 38 would be deleted now and 43 within 30d; 8 sooner than at present.
Steady state: at most 3 snapshots per PVC.
Warning: 3 snapshots would be taken at once, for slots that have passed (the latest at 2026-01-31T00:00:00Z).
`},
		"an edit that keeps more": {ahead.Variants{Present: s.Tiers, Future: longer}, false, `
shop/tiers would change: every 6h, PVCs with app=db, last: 2, daily: 7, weekly: 3

PVC    SELECTED   SNAPSHOTS   DELETED NOW   WITHIN 30D   AT PRESENT
db-0   yes        41          0             40           40
db-1   yes        3           0             3            3
db-2   yes        0           0             0            0
db-9   no         1           0             0            0

Of 45 existing snapshots, 0 would be deleted now and 43 within 30d; none sooner than at present.
Steady state: at most 100 snapshots per PVC.
`},
		"a new schedule over leftovers": {ahead.Variants{Present: nil, Future: adopting}, true, `
shop/old would be created: every 1d, TTL 1d

PVC       SELECTED      SNAPSHOTS   DELETED NOW   WITHIN 30D   AT PRESENT
cache-0   yes (added)   0           0             0            0
db-0      yes (added)   1           1             1            0
db-1      yes (added)   0           0             0            0
db-2      yes (added)   0           0             0            0
scratch   yes (added)   0           0             0            0
web-0     yes (added)   0           0             0            0

SNAPSHOT              DELETED   REASON    AT PRESENT
db-0-20260101000000   now       Expired   kept

Of 1 existing snapshot, 1 would be deleted now and 1 within 30d; 1 sooner than at present.
Steady state: at most 1 snapshot per PVC.
`},
		"a deletion": {ahead.Variants{Present: s.Tiers, Future: nil}, true, `
shop/tiers would be deleted: every 6h, PVCs with app=db, last: 2, daily: 7, weekly: 3

PVC    SELECTED       SNAPSHOTS   DELETED NOW   WITHIN 30D   AT PRESENT
db-0   no (removed)   41          41            41           40
db-1   no (removed)   3           3             3            3
db-2   no (removed)   0           0             0            0
db-9   no             1           1             1            0

SNAPSHOT              DELETED   REASON             AT PRESENT
db-0-20260113120000   now       GarbageCollected   kept
db-0-20260125180000   now       GarbageCollected   9d
db-0-20260126180000   now       GarbageCollected   2d
db-0-20260127180000   now       GarbageCollected   3d
db-0-20260128180000   now       GarbageCollected   4d
db-0-20260129180000   now       GarbageCollected   5d
db-0-20260130180000   now       GarbageCollected   6d
db-0-20260131000000   now       GarbageCollected   12h
db-1-20260129180000   now       GarbageCollected   6d
db-1-20260130120000   now       GarbageCollected   6d
… and 35 more; -o wide lists all.

Of 45 existing snapshots, 45 would be deleted now and 45 within 30d; 12 sooner than at present.
Warning: held snapshots are deleted with the schedule, too; to keep all, set deletionPolicy: Orphan first and wait until it is observed.
`},
		"a deletion with policy Orphan": {ahead.Variants{Present: orphaned, Future: nil}, false, `
shop/tiers would be deleted: every 6h, PVCs with app=db, last: 2, daily: 7, weekly: 3, snapshots outlive it

PVC    SELECTED       SNAPSHOTS   DELETED NOW   WITHIN 30D   AT PRESENT
db-0   no (removed)   41          0             0            40
db-1   no (removed)   3           0             0            3
db-2   no (removed)   0           0             0            0
db-9   no             1           0             0            0

None of 45 existing snapshots would be deleted within 30d.
`},
	} {
		t.Run(name, func(t *testing.T) {
			of := s
			if test.change.Present == orphaned {
				of = unowned
			}
			p := previewed(t, of, test.change)
			if foundIn(p) != test.found {
				t.Errorf("--fail-on-delete finds %v, want %v", foundIn(p), test.found)
			}
			clitest.Golden(t, func(b *bytes.Buffer) error { return printPreview(p, b, &term.Output{}, s.Now, "30d") }, test.want)
		})
	}
}

func TestSteadyState(t *testing.T) {
	for name, test := range map[string]struct {
		spec v1alpha1.SnapshotScheduleSpec
		want string
	}{
		"a tier that takes days to fill": {v1alpha1.SnapshotScheduleSpec{
			Schedule: "30 2 * * *", Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Hourly: 24}},
		}, "at most 24 snapshots per PVC"},
		"tiers that overlap": {v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h", Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Hourly: 24, Daily: 7, Weekly: 4}},
		}, "at most 33 snapshots per PVC"},
		"a TTL":                            {v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "10d"}, "at most 40 snapshots per PVC"},
		"a TTL of many slots is estimated": {v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1m", SnapshotTTL: "10d"}, "at most about 14400 snapshots per PVC"},
		"a cap": {v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "6h", Retention: v1alpha1.Retention{MaxCount: new(int32(5))},
		}, "at most 5 snapshots per PVC"},
		"a floor above the cap": {v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "2s", Retention: v1alpha1.Retention{MaxCount: new(int32(1)), MinReady: new(int32(5))},
		}, "at most 5 snapshots per PVC"},
		"a floor above the TTL": {v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h", SnapshotTTL: "30m", Retention: v1alpha1.Retention{MinReady: new(int32(5))},
		}, "at most 5 snapshots per PVC"},
		"verified ones beside the cap": {v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "6h", Retention: v1alpha1.Retention{MaxCount: new(int32(5)), MinVerified: 2},
		}, "at most 7 snapshots per PVC"},
		"no limit": {v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}, "no limit"},
	} {
		t.Run(name, func(t *testing.T) {
			state, err := ahead.SteadyStateOf(&test.spec, clitest.Start)
			if err != nil {
				t.Fatal(err)
			}
			if have := state.Words(); have != test.want {
				t.Errorf("\nhave %s\nwant %s", have, test.want)
			}
		})
	}
}

func TestPreviewSaysWhatTheStorageHasNoPlaceFor(t *testing.T) {
	s := clitest.NewScenario()
	class := &snapshotv1.VolumeSnapshotClass{
		ObjectMeta: metav1.ObjectMeta{Name: "small", Annotations: map[string]string{
			"snapshot.storage.kubernetes.io/is-default-class": "true", v1alpha1.AnnotationMaxPerVolume: "3",
		}},
		Driver: "small.example.com",
	}
	s.Inv.Snapshots = nil
	s.Inv.Classes = snapshots.Classes{Known: true, All: []client.Object{class}}
	for _, o := range s.Inv.Claims["shop"] {
		o.SetAnnotations(map[string]string{"volume.kubernetes.io/storage-provisioner": class.Driver})
	}
	few := s.Tiers.DeepCopy()
	few.Name, few.Spec.Retention = "few", v1alpha1.Retention{Keep: v1alpha1.Keep{Last: 2}}
	if got := previewed(t, s, ahead.Variants{Future: few}).Warnings; len(got) > 0 {
		t.Errorf("of a schedule that keeps 2 of 3: %q", got)
	}
	many := few.DeepCopy()
	many.Spec.Retention.Keep.Last = 3
	want := []string{"2 PVCs: keeps up to 3 snapshots per PVC and needs a place for the next; class small allows 3"}
	if got := previewed(t, s, ahead.Variants{Future: many}).Warnings; !slices.Equal(got, want) {
		t.Errorf("of a schedule that keeps 3 of 3: %q, want %q", got, want)
	}
	// Several rules keep the same snapshots.
	tiers := few.DeepCopy()
	tiers.Spec.Retention.Keep = v1alpha1.Keep{Last: 3, Hourly: 24, Daily: 7, Weekly: 4}
	p := previewed(t, s, ahead.Variants{Future: tiers})
	if want := "2 PVCs: keeps up to 28 snapshots per PVC and needs a place for the next; class small allows 3"; p.Steady.Snapshots != 28 ||
		!slices.Contains(p.Warnings, want) {
		t.Errorf("of a schedule that keeps %d: %q, want %q", p.Steady.Snapshots, p.Warnings, want)
	}
}
