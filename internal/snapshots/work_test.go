// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// The work of a pass over a group grows as the records of its group snapshots do, which it has to read, and not by PVCs times records.
//
// Contract: ONE-9.
func TestTheWorkOfAPassGrowsWithTheRecordsOfAGroup(t *testing.T) {
	strict := limited(class("fast", testDriver), "max-per-volume", "50")
	for name, tc := range map[string]struct {
		related   []client.Object
		elsewhere bool
	}{
		"its own, with a limit of volumes": {related: classes{strict}},
		"of other keys":                    {related: classes{class("fast", testDriver)}, elsewhere: true},
	} {
		t.Run(name, func(t *testing.T) {
			work := func(pvcs int) float64 {
				seen := groupOfMany(pvcs, tc.elsewhere)
				seen.Related = tc.related
				compiled, err := Compile(every("6h").grouped().SnapshotSchedule)
				must(t, err)
				return testing.AllocsPerRun(1, func() { compiled.Map(seen) })
			}
			few, many := work(25), work(100)
			t.Logf("allocates %v times with 25 PVCs, and %v with 100", few, many)
			if many > 6*few {
				t.Errorf("allocates %v times with 25 PVCs, and %v with 100", few, many)
			}
		})
	}
}

// groupOfMany are so many PVCs, in one group, and ten group snapshots of all of them.
func groupOfMany(pvcs int, elsewhere bool) mapcontroller.Observation {
	seen := mapcontroller.Observation{Now: noon, MapKey: wholeKey}
	var names []string
	for i := range pvcs {
		names = append(names, fmt.Sprint("data-", i))
		seen.Selected = append(seen.Selected, claim(names[i]).member().of(testDriver).PersistentVolumeClaim)
	}
	for i := range 10 {
		of := group(time.Duration(i+1)*time.Hour, strings.Join(names, " "), strings.Join(names, " "))
		if seen.Children = append(seen.Children, of.members...); elsewhere {
			of.Labels[v1alpha1.LabelMapKey] = "g-" + strings.Repeat("a", backup.GroupKeyLength)
			seen.Elsewhere = append(seen.Elsewhere, of.VolumeGroupSnapshot)
		} else {
			seen.Outputs = append(seen.Outputs, of.VolumeGroupSnapshot)
		}
	}
	return seen
}

// A group snapshot is of many PVCs of a group, and is read once. For a group that is too large for any, none is read.
//
// Contract: ONE-9.
func TestSnapshotsOfTheVolumesOfAGroupComeOnce(t *testing.T) {
	f := newFlight(10, limited(class("fast", testDriver), "max-per-volume", "5"), every("6h").grouped().SnapshotSchedule)
	of, looked := group(time.Hour, "a b", "").VolumeGroupSnapshot, 0
	f.engine.MadeFrom = func(string, string) []client.Object {
		looked++
		return []client.Object{of}
	}
	two := []client.Object{claim("a").PersistentVolumeClaim, claim("b").PersistentVolumeClaim}
	if found := f.related("shop", mapcontroller.Observation{MapKey: wholeKey, Selected: two}, f.allClasses()); len(found) != 1 || looked != 2 {
		t.Errorf("%d objects of one group snapshot", len(found))
	}
	looked = 0
	many := slices.Repeat(two[:1], backup.MaxGroup+1)
	if f.related("shop", mapcontroller.Observation{MapKey: wholeKey, Selected: many}, f.allClasses()); looked > 0 {
		t.Errorf("looks up %d PVCs", looked)
	}
}

// Whoever makes snapshots of a volume come and go all the time makes its key wait, and nobody else: the lock that all namespaces share
// is never held while snapshots are looked up.
//
// Contract: ONE-9, LIMIT-3.
func TestSnapshotsThatComeAndGoMakeTheirVolumeWait(t *testing.T) {
	s := every("6h")
	f := newFlight(10, limited(class("fast", testDriver), "max-per-volume", "5"), s.SnapshotSchedule, claim("data").of(testDriver).PersistentVolumeClaim)
	come := func(name string) {
		f.with(func(now time.Time) []limits.Wake {
			of := limits.Snapshot{
				Namespace: "shop", Name: name, Schedule: "backup", Limit: testDriver, Volumes: []string{"data-uid"}, ReadyDeadline: time.Hour,
			}
			return f.limits.Seen(now, of, limits.Stage{Created: now, Uncut: true})
		})
	}
	steady, looked := false, 0
	f.engine.MadeFrom = func(string, string) []client.Object {
		if looked++; !f.mu.TryLock() {
			t.Fatal("looks up under the lock")
		}
		f.mu.Unlock()
		if !steady {
			come("x")
			f.with(func(now time.Time) []limits.Wake { return f.limits.Remove(now, "shop", "x") })
		}
		return nil
	}
	later := map[string]time.Duration{}
	f.engine.Enqueue = func(req mapcontroller.Request, after time.Duration) { later[req.MapKey] = after }
	create := []mapcontroller.Desired{{
		Object: snapshotOf(s, claim("data"), nil, noon), Limit: testDriver, Since: noon,
	}}
	if why := f.allow(keyOf("data-uid"), create, nil); why == "" || later["data-uid"] != time.Second || looked > maxLookUps {
		t.Errorf("waits for %q, woken in %v, looked %d times", why, later["data-uid"], looked)
	}
	if _, waiting := f.counts(); waiting != 1 {
		t.Errorf("%d wait", waiting)
	}
	steady = true
	f.clock.SetTime(in(time.Second))
	if why := f.allow(keyOf("data-uid"), create, nil); why != "" {
		t.Errorf("a second later, it waits for %q", why)
	}
}
