// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"slices"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// previewed returns the preview of a change of the scenario's schedule with tiers.
func previewed(t *testing.T, s *scenario, v variants) *preview {
	t.Helper()
	if v.future != nil {
		var err error
		if v.steady, err = steadyStateOf(&v.future.Spec, s.now); err != nil {
			t.Fatal(err)
		}
	}
	p, err := previewOf(v, s.inv, s.now, s.now.Add(30*term.Day))
	if err != nil {
		t.Fatal(err)
	}
	p.warn(v, 8)
	return p
}

// The garbage collector does not ask who controls a snapshot.
func TestPreviewOfADeletionFollowsEveryReference(t *testing.T) {
	s := newScenario()
	deleted := func() (n int) {
		for _, c := range previewed(t, s, variants{present: s.tiers, future: nil}).Claims {
			n += c.Now
		}
		return n
	}
	controlled := deleted()
	for _, o := range s.inv.snapshots["shop"] {
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
	s := newScenario()
	orphan := s.tiers.DeepCopy()
	orphan.Spec.DeletionPolicy, orphan.Generation = v1alpha1.DeletionOrphan, 2
	count := func(v variants) (deleted, counted int, warnings []string) {
		p := previewed(t, s, v)
		for _, c := range p.Claims {
			deleted, counted = deleted+c.Now, counted+c.Snapshots
		}
		return deleted, counted, p.Warnings
	}
	asItIs, all, _ := count(variants{present: s.tiers, future: s.tiers})
	if edited, counted, _ := count(variants{present: s.tiers, future: orphan}); edited != asItIs || counted != all {
		t.Errorf("an edit of the policy deletes %d of %d snapshots now, without it %d of %d", edited, counted, asItIs, all)
	}
	owned := s.inv.snapshots["shop"]
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
		deleted, counted, warnings := count(variants{present: orphan, future: nil})
		warned := slices.Contains(warnings, "the operator is still removing owner references: wait until status.observedGeneration is 2")
		if deleted != want || counted != all || warned != (want > 0) {
			t.Errorf("%d with references: %d of %d deleted, want %d of %d; warnings %q", left, deleted, counted, want, all, warnings)
		}
		if edited, _, _ := count(variants{present: orphan, future: orphan}); edited != asItIs {
			t.Errorf("%d with references: retention deletes %d now, want %d", left, edited, asItIs)
		}
	}
}

func TestPreview(t *testing.T) {
	s := newScenario()
	longer := s.tiers.DeepCopy()
	longer.Spec.Retention.Keep = v1alpha1.Keep{Last: 100}
	shorter := s.tiers.DeepCopy()
	shorter.Spec.Retention.Keep = v1alpha1.Keep{Last: 2, Daily: 2}
	shorter.Spec.Selector = v1alpha1.LabelSelector{}
	orphaned := s.tiers.DeepCopy()
	orphaned.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
	adopting := testSchedule("old", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1d", SnapshotTTL: "1d"})
	owned := s.inv.snapshots["shop"]
	unowned := &scenario{now: s.now, inv: &inventory{claims: s.inv.claims, snapshots: map[string][]client.Object{}}}
	for _, o := range owned {
		o = o.DeepCopyObject().(client.Object)
		o.SetOwnerReferences(nil)
		unowned.inv.snapshots["shop"] = append(unowned.inv.snapshots["shop"], o)
	}
	for name, test := range map[string]struct {
		change variants
		found  bool
		want   string
	}{
		"as it is": {variants{present: s.tiers, future: s.tiers}, true, `
shop/tiers as it is: every 6h of PVCs with app=db, last: 2, daily: 7, weekly: 3

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
Steady state: at most 10 snapshots per PVC; last: 2 is full after 6h, daily: 7 is full after 6d, weekly: 3 is full after 9d.
Warning: the steady state exceeds the driver's limit of 8 snapshots per volume: at most 10 snapshots per PVC, and one more while a new one is taken.
`},
		"an edit that deletes": {variants{present: s.tiers, future: shorter}, true, `
shop/tiers would change: every 6h of PVCs with app=db, last: 2, daily: 7, weekly: 3

PVC       SELECTED      SNAPSHOTS   DELETED NOW   WITHIN 30D   AT PRESENT
cache-0   yes (added)   0           0             0            0
db-0      yes           41          38            40           40
db-1      yes           3           0             3            3
db-2      yes           0           0             0            0
scratch   yes (added)   0           0             0            0
web-0     yes (added)   0           0             0            0
db-9      no            1           0             0            0

SNAPSHOT              DELETED   REASON        AT PRESENT
db-0-20260125180000   now       NotSelected   8d
db-0-20260126180000   now       NotSelected   47h
db-0-20260127180000   now       NotSelected   2d23h
db-0-20260128180000   now       NotSelected   3d23h
db-0-20260129180000   now       NotSelected   4d23h
db-0-20260130180000   23h       NotSelected   5d23h
db-1-20260129180000   23h       NotSelected   5d23h
db-1-20260130120000   23h       Superseded    5d23h
… and 35 more; -o wide lists all.

Of 45 existing snapshots, 38 would be deleted now and 43 within 30d; 8 sooner than at present.
Steady state: at most 3 snapshots per PVC; last: 2 is full after 6h, daily: 2 is full after 24h.
Warning: 3 snapshots would be taken at once, for slots that have passed (the latest at 2026-01-31T00:00:00Z).
`},
		"an edit that keeps more": {variants{present: s.tiers, future: longer}, false, `
shop/tiers would change: every 6h of PVCs with app=db, last: 2, daily: 7, weekly: 3

PVC    SELECTED   SNAPSHOTS   DELETED NOW   WITHIN 30D   AT PRESENT
db-0   yes        41          0             40           40
db-1   yes        3           0             3            3
db-2   yes        0           0             0            0
db-9   no         1           0             0            0

Of 45 existing snapshots, 0 would be deleted now and 43 within 30d; none sooner than at present.
Steady state: at most 100 snapshots per PVC; last: 100 is full after 24d.
Warning: the steady state exceeds the driver's limit of 8 snapshots per volume: at most 100 snapshots per PVC, and one more while a new one is taken.
`},
		"a new schedule over leftovers": {variants{present: nil, future: adopting}, true, `
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
Steady state: at most 1 snapshot per PVC; snapshotTTL: 1d is full after 24h.
`},
		"a deletion": {variants{present: s.tiers, future: nil}, true, `
shop/tiers would be deleted: every 6h of PVCs with app=db, last: 2, daily: 7, weekly: 3

PVC    SELECTED       SNAPSHOTS   DELETED NOW   WITHIN 30D   AT PRESENT
db-0   no (removed)   41          41            41           40
db-1   no (removed)   3           3             3            3
db-2   no (removed)   0           0             0            0
db-9   no             1           1             1            0

SNAPSHOT              DELETED   REASON             AT PRESENT
db-0-20260113120000   now       GarbageCollected   kept
db-0-20260125180000   now       GarbageCollected   8d
db-0-20260126180000   now       GarbageCollected   47h
db-0-20260127180000   now       GarbageCollected   2d23h
db-0-20260128180000   now       GarbageCollected   3d23h
db-0-20260129180000   now       GarbageCollected   4d23h
db-0-20260130180000   now       GarbageCollected   5d23h
db-0-20260131000000   now       GarbageCollected   11h
db-1-20260129180000   now       GarbageCollected   5d23h
db-1-20260130120000   now       GarbageCollected   5d23h
… and 35 more; -o wide lists all.

Of 45 existing snapshots, 45 would be deleted now and 45 within 30d; 12 sooner than at present.
Warning: held snapshots are deleted with the schedule, too; to keep all, set deletionPolicy: Orphan first and wait until it is observed.
`},
		"a deletion with policy Orphan": {variants{present: orphaned, future: nil}, false, `
shop/tiers would be deleted: every 6h of PVCs with app=db, last: 2, daily: 7, weekly: 3, snapshots outlive it

PVC    SELECTED       SNAPSHOTS   DELETED NOW   WITHIN 30D   AT PRESENT
db-0   no (removed)   41          0             0            40
db-1   no (removed)   3           0             0            3
db-2   no (removed)   0           0             0            0
db-9   no             1           0             0            0

Of 45 existing snapshots, 0 would be deleted now and 0 within 30d; none sooner than at present.
`},
	} {
		t.Run(name, func(t *testing.T) {
			of := s
			if test.change.present == orphaned {
				of = unowned
			}
			p := previewed(t, of, test.change)
			if p.found() != test.found {
				t.Errorf("--fail-on-delete finds %v, want %v", p.found(), test.found)
			}
			golden(t, func(b *bytes.Buffer) error { return p.print(b, &term.Output{}, s.now, "30d") }, test.want)
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
		}, "at most 24 snapshots per PVC; hourly: 24 is full after 23d"},
		"tiers that overlap": {v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h", Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Hourly: 24, Daily: 7, Weekly: 4}},
		}, "at most 33 snapshots per PVC; hourly: 24 is full after 23h, daily: 7 is full after 6d, weekly: 4 is full after 18d"},
		"a TTL":                            {v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "10d"}, "at most 40 snapshots per PVC; snapshotTTL: 10d is full after 10d"},
		"a TTL of many slots is estimated": {v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1m", SnapshotTTL: "10d"}, "at most about 14400 snapshots per PVC; snapshotTTL: 10d is full after 10d"},
		"a cap": {v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "6h", Retention: v1alpha1.Retention{MaxCount: new(int32(5))},
		}, "at most 5 snapshots per PVC"},
		"a floor above the cap": {v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "2s", Retention: v1alpha1.Retention{MaxCount: new(int32(1)), MinReady: new(int32(5))},
		}, "at most 5 snapshots per PVC"},
		"a floor above the TTL": {v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "1h", SnapshotTTL: "30m", Retention: v1alpha1.Retention{MinReady: new(int32(5))},
		}, "at most 5 snapshots per PVC; snapshotTTL: 30m is full after 30m"},
		"verified ones beside the cap": {v1alpha1.SnapshotScheduleSpec{
			SnapshotInterval: "6h", Retention: v1alpha1.Retention{MaxCount: new(int32(5)), MinVerified: 2},
		}, "at most 7 snapshots per PVC"},
		"no limit": {v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}, "no limit"},
	} {
		t.Run(name, func(t *testing.T) {
			state, err := steadyStateOf(&test.spec, start)
			if err != nil {
				t.Fatal(err)
			}
			if have := state.words() + state.fillWords(); have != test.want {
				t.Errorf("\nhave %s\nwant %s", have, test.want)
			}
		})
	}
}

func TestPrintWhy(t *testing.T) {
	s := newScenario()
	s.tiers.Spec.Retention.MinVerified = 1
	judge, err := snapshots.NewJudge(term.Scheme, s.tiers, anyClass)
	if err != nil {
		t.Fatal(err)
	}
	all := s.inv.seriesOf(s.tiers, judge)
	all[0].snapshots[4].GetAnnotations()[v1alpha1.AnnotationVerifiedAt] = term.Timestamp(s.now)
	all[0].snapshots[39].SetAnnotations(map[string]string{
		v1alpha1.AnnotationScheduledAt: all[0].snapshots[39].GetAnnotations()[v1alpha1.AnnotationScheduledAt], v1alpha1.AnnotationHold: "2026-02-01T12:00:00Z",
	})
	for name, test := range map[string]struct {
		series, snapshot int
		want             string
	}{
		"a snapshot that tiers keep in turn": {0, 1, `
shop/db-0-20260130180000
  Schedule tiers, PVC db-0
  Taken for 2026-01-30T18:00:00Z, 6h20m ago; Ready

FROM                   IN      VERDICT   RULE          BECAUSE
2026-01-31T00:20:00Z   now     kept      KeptLast      keep.last selects it
2026-01-31T06:00:00Z   5h40m   kept      KeptDaily     keep.daily selects it
2026-02-06T00:00:00Z   5d23h   deleted   NotSelected   no tier selects it
`},
		"a held snapshot": {0, 40, `
shop/db-0-20260113120000
  Schedule tiers, PVC db-0
  Taken for 2026-01-13T12:00:00Z, 17d ago; Ready

FROM                   IN    VERDICT   RULE               BECAUSE
2026-01-31T00:20:00Z   now   kept      HeldByAnnotation   it is held: audit

The passing of time alone does not delete it.
`},
		"a snapshot that is held until a time": {0, 39, `
shop/db-0-20260121060000
  Schedule tiers, PVC db-0
  Taken for 2026-01-21T06:00:00Z, 9d ago; Ready

FROM                   IN    VERDICT   RULE               BECAUSE
2026-01-31T00:20:00Z   now   kept      HeldByAnnotation   it is held until 2026-02-01T12:00:00Z
2026-02-01T12:00:00Z   35h   deleted   NotSelected        no tier selects it
`},
		"a verified snapshot": {0, 4, `
shop/db-0-20260130000000
  Schedule tiers, PVC db-0
  Taken for 2026-01-30T00:00:00Z, 24h ago; Ready

FROM                   IN    VERDICT   RULE       BECAUSE
2026-01-31T00:20:00Z   now   kept      Verified   it is one of the newest minVerified snapshots whose last drill succeeded

The passing of time alone does not delete it.
`},
		"a failed snapshot": {1, 1, `
shop/db-1-20260130120000
  Schedule tiers, PVC db-1
  Taken for 2026-01-30T12:00:00Z, 12h ago; Failed

FROM                   IN      VERDICT   RULE         BECAUSE
2026-01-31T00:20:00Z   now     kept      Unready      it is not ready, and no TTL is set
2026-02-06T00:00:00Z   5d23h   deleted   Superseded   it is not ready, and every ready snapshot that is kept is newer, or the next one has no other place
`},
		"the last one of a PVC that is gone": {3, 0, `
shop/db-9-20260129000000
  Schedule tiers, PVC db-9
  Taken for 2026-01-29T00:00:00Z, 2d ago; Ready

FROM                   IN    VERDICT   RULE       BECAUSE
2026-01-31T00:20:00Z   now   kept      KeptLast   keep.last selects it

The passing of time alone does not delete it.
`},
	} {
		t.Run(name, func(t *testing.T) {
			o := all[test.series].snapshots[test.snapshot]
			r := &whyResult{Namespace: "shop", Name: o.GetName(), Schedule: "tiers"}
			r.judge(judge, all[test.series], s.now, s.now.Add(maxAhead), true)
			golden(t, func(b *bytes.Buffer) error { return printWhy(b, &term.Output{}, r, s.now) }, test.want)
		})
	}
}

func TestPreviewSaysWhatTheStorageHasNoPlaceFor(t *testing.T) {
	s := newScenario()
	class := &snapshotv1.VolumeSnapshotClass{
		ObjectMeta: metav1.ObjectMeta{Name: "small", Annotations: map[string]string{
			"snapshot.storage.kubernetes.io/is-default-class": "true", v1alpha1.AnnotationMaxPerVolume: "3",
		}},
		Driver: "small.example.com",
	}
	s.inv.snapshots = nil
	s.inv.classes = snapshots.Classes{Known: true, All: []client.Object{class}}
	for _, o := range s.inv.claims["shop"] {
		o.SetAnnotations(map[string]string{"volume.kubernetes.io/storage-provisioner": class.Driver})
	}
	few := s.tiers.DeepCopy()
	few.Name, few.Spec.Retention = "few", v1alpha1.Retention{Keep: v1alpha1.Keep{Last: 2}}
	if got := previewed(t, s, variants{future: few}).Warnings; len(got) > 0 {
		t.Errorf("of a schedule that keeps 2 of 3: %q", got)
	}
	many := few.DeepCopy()
	many.Spec.Retention.Keep.Last = 3
	want := []string{"2 PVCs: keeps up to 3 snapshots per PVC and needs a place for the next; class small allows 3"}
	if got := previewed(t, s, variants{future: many}).Warnings; !slices.Equal(got, want) {
		t.Errorf("of a schedule that keeps 3 of 3: %q, want %q", got, want)
	}
	// Several rules keep the same snapshots.
	tiers := few.DeepCopy()
	tiers.Spec.Retention.Keep = v1alpha1.Keep{Last: 3, Hourly: 24, Daily: 7, Weekly: 4}
	p := previewed(t, s, variants{future: tiers})
	if want := "2 PVCs: keeps up to 28 snapshots per PVC and needs a place for the next; class small allows 3"; p.Steady.Snapshots != 28 ||
		!slices.Contains(p.Warnings, want) {
		t.Errorf("of a schedule that keeps %d: %q, want %q", p.Steady.Snapshots, p.Warnings, want)
	}
}
