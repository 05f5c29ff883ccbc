// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// Which snapshots of PVC data keep another PVC's from being created, where one may be pending. They are seen in events, and by
// a pass over their key.
//
// Contract: LIMIT-2, LIMIT-7.
func TestWhatIsPending(t *testing.T) {
	owner := every("6h").readyDeadline("1s") // which is the tenant's
	for name, tc := range map[string]struct {
		snapshots series
		gone      bool // the PVC
		want      bool // it counts
	}{
		"uncut":                            {snapshots: series{uncut(time.Minute)}, want: true},
		"cut and uploading for 23 hours":   {snapshots: series{uploading(23 * time.Hour)}, want: true},
		"cut and uploading for a day":      {snapshots: series{uploading(day)}},
		"in error, and young":              {snapshots: series{erring(time.Minute)}, want: true},
		"terminating, uncut":               {snapshots: series{uncut(time.Minute).deleting()}, want: true},
		"terminating, cut and never ready": {snapshots: series{uploading(2 * day).deleting()}, want: true},
		"terminating for an hour":          {snapshots: series{uploading(2 * time.Hour).deletedSince(ago(time.Hour))}},
		"uncut for less than an hour, whatever readyDeadline says": {snapshots: series{uncut(59 * time.Minute)}, want: true},
		"uploading, of a PVC that is gone":                         {snapshots: series{uploading(23 * time.Hour)}, gone: true, want: true},
		"uncut, of a PVC that is gone":                             {snapshots: series{uncut(time.Minute)}, gone: true},
		"ready":                                                    {snapshots: series{ready(time.Minute)}},
		"terminating, and was ready":                               {snapshots: series{ready(time.Minute).deleting()}},
		"failed, uncut":                                            {snapshots: series{uncut(2 * time.Hour)}},
		"failed, cut":                                              {snapshots: series{erring(2 * time.Hour)}},
		"followed by a newer ready one":                            {snapshots: series{uploading(23 * time.Hour), ready(time.Hour)}},
		"followed by one that is being deleted":                    {snapshots: series{uploading(23 * time.Hour), ready(time.Hour).deleting()}, want: true},
		"newer than a ready one":                                   {snapshots: series{uploading(23 * time.Hour), ready(2 * day)}, want: true},
		"imported":                                                 {snapshots: series{imported(time.Minute)}},
	} {
		for _, seen := range []string{"in events", "in a pass", "the other way round"} {
			t.Run(name+", "+seen, func(t *testing.T) {
				f := newFlight(10, limited(class("fast", testDriver), "max-pending", "1"), owner.SnapshotSchedule)
				if !tc.gone {
					f.add(claim("data").of(testDriver).PersistentVolumeClaim)
				}
				var all []client.Object
				for _, s := range tc.snapshots {
					s.Spec.VolumeSnapshotClassName = new(string)
					*s.Spec.VolumeSnapshotClassName = "fast"
					s = s.by(owner)
					f.add(s.VolumeSnapshot)
					all = append(all, s.VolumeSnapshot)
				}
				switch seen {
				case "in events":
					for _, o := range all {
						f.event(backupOfShop, nil, o)
					}
				case "in a pass":
					f.pass(all...)
				default:
					for i := range all {
						f.event(backupOfShop, nil, all[len(all)-1-i])
					}
				}
				if got := !f.ask("other"); got != tc.want {
					t.Errorf("another has to wait: %v, want %v", got, tc.want)
				}
			})
		}
	}
}

// An upload that ends, by whichever event, wakes who waits for it.
//
// Contract: LIMIT-2.
func TestWhatIsPendingEnds(t *testing.T) {
	owner := every("6h")
	for name, end := range map[string]func(f *flight, before snapshotBuilder){
		"it is ready": func(f *flight, before snapshotBuilder) {
			after := ready(23 * time.Hour).by(owner)
			f.add(after.VolumeSnapshot)
			f.event(backupOfShop, before.VolumeSnapshot, after.VolumeSnapshot)
		},
		"a newer one is ready": func(f *flight, _ snapshotBuilder) {
			newer := ready(time.Hour).by(owner)
			f.add(newer.VolumeSnapshot)
			f.event(backupOfShop, nil, newer.VolumeSnapshot)
		},
		"it is deleted": func(f *flight, before snapshotBuilder) {
			f.remove(before.VolumeSnapshot)
			f.event(backupOfShop, before.VolumeSnapshot, nil)
		},
		"it has an error for long": func(f *flight, before snapshotBuilder) {
			after := erring(23 * time.Hour).by(owner)
			f.add(after.VolumeSnapshot)
			f.event(backupOfShop, before.VolumeSnapshot, after.VolumeSnapshot)
		},
		"the limit is lifted": func(f *flight, _ snapshotBuilder) {
			f.add(class("fast", testDriver))
			f.ask("another")
		},
	} {
		f := newFlight(10, limited(class("fast", testDriver), "max-pending", "1"), owner.SnapshotSchedule, claim("data").of(testDriver).PersistentVolumeClaim)
		before := uploading(23 * time.Hour).by(owner)
		f.add(before.VolumeSnapshot)
		f.event(backupOfShop, nil, before.VolumeSnapshot)
		if f.ask("other") {
			t.Fatalf("%s: it does not count", name)
		}
		if end(f, before); len(f.enqueued) != 1 || f.enqueued[0] != "other" {
			t.Errorf("%s: wakes %v", name, f.enqueued)
		}
	}
}

// The class replaces the flag.
//
// Contract: LIMIT-1.
func TestMaxInFlightOfAClass(t *testing.T) {
	f := newFlight(1, limited(class("fast", testDriver), "max-in-flight", "2"))
	if !f.ask("a") || !f.ask("b") || f.ask("c") {
		t.Error("not two of three may be created")
	}
}

// lacks makes a pass over PVC data of a schedule that lacks a snapshot.
func (f *flight) lacks(schedule, snapshot string) (why string) {
	want := mapcontroller.Desired{Object: uncut(0).named(snapshot).VolumeSnapshot, Limit: testDriver, Since: noon}
	req := keyOf("data-uid")
	req.Parent.Name = schedule
	return f.allow(req, []mapcontroller.Desired{want}, nil)
}

// The places of a volume, over two schedules: what exists in the cache counts once, and so does what was created and is in no
// cache yet. A deleted snapshot wakes the other schedule.
//
// Contract: LIMIT-3, LIMIT-4.
func TestPlacesOfAVolume(t *testing.T) {
	hourly, daily := every("1h").named("hourly"), every("1d").named("daily")
	setUp := func(annotations ...string) *flight {
		return newFlight(10, limited(class("fast", testDriver), annotations...), hourly.SnapshotSchedule, daily.SnapshotSchedule,
			claim("data").of(testDriver).PersistentVolumeClaim)
	}
	t.Run("max-per-volume", func(t *testing.T) {
		f := setUp("max-per-volume", "2")
		old := ready(2 * time.Hour).under("daily")
		f.add(old.VolumeSnapshot)
		f.add(imported(time.Hour).under("daily").VolumeSnapshot)
		if why := f.lacks("hourly", "new"); why != "" {
			t.Fatalf("there is a place, and it waits: %s", why)
		}
		if why := f.lacks("daily", "newer"); why != string(limits.VolumeLimit) {
			t.Fatalf("created and unseen, there is no place: waits for %q", why)
		}
		created := uncut(0).under("hourly")
		created.Name = "new"
		f.add(created.VolumeSnapshot)
		if why := f.lacks("daily", "newer"); why != string(limits.VolumeLimit) {
			t.Fatalf("seen in the cache, there is no place: waits for %q", why)
		}
		f.remove(old.VolumeSnapshot)
		f.enqueued = nil
		f.event(backupOfShop, old.VolumeSnapshot, nil)
		if len(f.enqueued) != 1 {
			t.Fatalf("wakes %v", f.enqueued)
		}
		if why := f.lacks("daily", "newer"); why != "" {
			t.Errorf("there is a place again, and it waits: %s", why)
		}
	})
	t.Run("min-spacing", func(t *testing.T) {
		f := setUp("min-spacing", "10m")
		f.add(ready(5 * time.Minute).under("daily").VolumeSnapshot)
		if why := f.lacks("hourly", "new"); why != string(limits.Spacing) {
			t.Fatalf("5m after the last one, it waits for %q", why)
		}
		f.clock.SetTime(in(5 * time.Minute))
		if why := f.lacks("hourly", "new"); why != string(limits.Spacing) {
			t.Fatalf("10m after the second in which the last one was created, it waits for %q", why)
		}
		f.clock.SetTime(in(5*time.Minute + time.Second))
		if why := f.lacks("hourly", "new"); why != "" {
			t.Fatalf("after 10m, it waits for %q", why)
		}
		f.clock.SetTime(in(6 * time.Minute))
		if why := f.lacks("daily", "newer"); why != string(limits.Spacing) {
			t.Fatalf("after one that no cache has, it waits for %q", why)
		}
	})
	t.Run("of a failed create nothing is left", func(t *testing.T) {
		f := setUp("max-per-volume", "1", "min-spacing", "10m")
		f.lacks("hourly", "new")
		f.done("shop", mapcontroller.Outcome{Failed: []mapcontroller.Failure{{
			Verb: mapcontroller.VerbCreate, Object: uncut(0).named("new").VolumeSnapshot, Err: forbidden("quota"),
		}}})
		if why := f.lacks("daily", "newer"); why != "" {
			t.Errorf("waits for %q", why)
		}
	})
}

// A slot that waits too long says what it waited for.
//
// Contract: LIMIT-7.
func TestWhatASlotWaitsFor(t *testing.T) {
	for why, want := range map[limits.Reason]string{
		limits.InFlight: "--max-in-flight-per-driver", limits.Pending: "max-pending", limits.VolumeLimit: "max-per-volume", limits.Spacing: "min-spacing",
	} {
		before := &keyStatus{Claim: "data", pending: &pendingSlot{slot: noon, driver: testDriver, why: why}}
		after := &keyStatus{Claim: "data", pending: &pendingSlot{slot: noon, late: true}}
		found := afterWrites(before, after, mapcontroller.Outcome{})
		if len(found) != 1 || found[0].Reason != v1alpha1.ReasonSnapshotOverdue || !strings.Contains(found[0].Message, want) {
			t.Errorf("%s: problems %v, want %s", why, found, want)
		}
	}
}

// What the storage uploads of a group does not end with its PVCs, nor with some of them.
//
// Contract: LIMIT-2.
func TestAnUploadingGroupWeighsWhatWasCutOfIt(t *testing.T) {
	owner := every("6h").grouped()
	for name, tc := range map[string]struct {
		change func(groupBuilder) groupBuilder
		left   []string
		most   string // max-pending; 2 if empty
		want   bool   // another has to wait
	}{
		"all PVCs exist": {left: []string{"a", "b"}, want: true},
		"without a record, so that nothing says of what": {change: func(g groupBuilder) groupBuilder {
			delete(g.Annotations, v1alpha1.AnnotationClaims)
			return g
		}, most: "1"},
		"one is gone":                  {left: []string{"a"}, want: true},
		"all are gone":                 {want: true},
		"uncut, one is gone":           {change: groupBuilder.uncut, left: []string{"a"}},
		"ready":                        {change: func(g groupBuilder) groupBuilder { g.Status.ReadyToUse = new(true); return g }, left: []string{"a"}},
		"uncut, all PVCs exist":        {change: groupBuilder.uncut, left: []string{"a", "b"}, want: true},
		"uncut, and all PVCs are gone": {change: groupBuilder.uncut},
		"imported": {change: func(g groupBuilder) groupBuilder {
			g.Spec.Source.VolumeGroupSnapshotContentName = new("nowhere")
			return g
		}, left: []string{"a", "b"}},
		"imported, and never cut": {change: func(g groupBuilder) groupBuilder {
			g.Spec.Source.VolumeGroupSnapshotContentName = new("nowhere")
			g.Status = nil
			return g
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlight(10, limited(class("fast", testDriver), "max-pending", cmp.Or(tc.most, "2")), owner.SnapshotSchedule)
			for _, o := range []client.Object{anyGroup, anyGroupClass} {
				store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
				f.cached[reflect.TypeOf(o)] = store
				f.stores.Add(o, store)
			}
			f.add(groupClass("groups", testDriver, true))
			for _, of := range tc.left {
				f.add(claim(of).member().of(testDriver).PersistentVolumeClaim)
			}
			g := group(time.Minute, "a b", "").unready()
			if tc.change != nil {
				g = tc.change(g)
			}
			g.Labels[v1alpha1.LabelSchedule] = owner.Name
			g.OwnerReferences = []metav1.OwnerReference{owner.ownerReference()}
			g.Name = groupName(owner, wholeKey, backup.SlotOf(g.VolumeGroupSnapshot))
			g.Spec.VolumeGroupSnapshotClassName = new("groups")
			f.add(g.VolumeGroupSnapshot)
			f.event(backupOfShop, nil, g.VolumeGroupSnapshot)
			if got := !f.ask("other"); got != tc.want {
				t.Errorf("another has to wait: %v, want %v", got, tc.want)
			}
		})
	}
}
