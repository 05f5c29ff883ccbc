// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// disks are Limits among schedules that share volumes, and what the storage and the cache have.
type disks struct {
	*tester
	max     int
	spacing time.Duration
	// exists are the snapshots in the storage, by name, and shown those that the cache has.
	exists map[string]disk
	shown  map[string]bool
	// wants are the keys that lack a snapshot, since when.
	wants map[string]time.Time
	last  map[string]time.Time
	n     int
}

// disk is a snapshot in the storage: of which volume, which key made it, and when.
type disk struct {
	volume, key string
	created     time.Time
}

func newDisks(maximum int, spacing time.Duration) *disks {
	return &disks{
		tester: newTester(0), max: maximum, spacing: spacing, exists: map[string]disk{}, shown: map[string]bool{},
		wants: map[string]time.Time{}, last: map[string]time.Time{},
	}
}

// volumeOfKey is the volume of a key: its map key.
func volumeOfKey(name string) string { return key(name).MapKey }

// pass reconciles a key, and creates its snapshot if it may be.
func (d *disks) pass(t *rapid.T, name string) {
	delete(d.later, name)
	since, wants := d.wants[name]
	if !wants {
		d.leave(name)
		return
	}
	d.n++
	volume, snapshot := volumeOfKey(name), fmt.Sprintf("snapshot-%d", d.n)
	c := Create{
		Request: key(name), Since: since,
		Snapshot: Snapshot{Namespace: "shop", Name: snapshot, Schedule: key(name).Parent.Name, Volumes: []string{volume}, ReadyDeadline: time.Hour},
		Volumes:  []Volume{{Name: volume, Max: d.max, Spacing: d.spacing}},
	}
	exist := 0
	for other, s := range d.exists {
		if s.volume != volume {
			continue
		}
		if exist++; d.shown[other] {
			c.Volumes[0].Snapshots = append(c.Volumes[0].Snapshots, other)
			if s.created.After(c.Volumes[0].Newest) {
				c.Volumes[0].Newest = s.created
			}
		}
	}
	why, wake := d.MayCreate(d.now, c)
	d.note(wake)
	if why != "" {
		return
	}
	if d.max > 0 && exist >= d.max {
		t.Fatalf("%s gets a snapshot of a volume that has %d of %d", name, exist, d.max)
	}
	if last, ok := d.last[volume]; ok && d.now.Before(last.Add(d.spacing)) {
		t.Fatalf("%s gets a snapshot %s after the last one", name, d.now.Sub(last))
	}
	delete(d.wants, name)
	d.exists[snapshot] = disk{volume: volume, key: name, created: d.now}
	d.last[volume] = d.now
}

// settle reconciles the keys that were woken.
func (d *disks) settle(t *rapid.T) {
	for steps := 0; len(d.woken) > 0; steps++ {
		if steps > 1000 {
			t.Fatal("keys wake one another without end")
		}
		next := d.woken[0]
		d.woken = d.woken[1:]
		d.pass(t, next)
	}
}

// wait lets time pass, in which the cache shows what exists, and reconciles the keys that are woken by then.
func (d *disks) wait(t *rapid.T, until time.Time) {
	for _, name := range slices.Sorted(maps.Keys(d.exists)) {
		d.show(name)
	}
	for d.now.Before(until) {
		d.now = until
		for _, at := range d.later {
			if at.Before(d.now) {
				d.now = at
			}
		}
		for _, name := range slices.Sorted(maps.Keys(d.later)) {
			if !d.later[name].After(d.now) {
				d.woken = append(d.woken, name)
				delete(d.later, name)
			}
		}
		d.settle(t)
	}
}

// show lets the cache have a snapshot, uncut.
func (d *disks) show(name string) {
	s := d.exists[name]
	d.shown[name] = true
	d.see(Snapshot{
		Namespace: "shop", Name: name, Schedule: key(s.key).Parent.Name, Volumes: []string{s.volume}, ReadyDeadline: time.Hour,
	}, d.now.Sub(s.created))
}

// remove deletes a snapshot. Its own key is reconciled as the others of its volume are woken.
func (d *disks) remove(name string) {
	s := d.exists[name]
	delete(d.exists, name)
	delete(d.shown, name)
	d.note(d.Remove(d.now, "shop", name))
	d.note(d.VolumeChanged(d.now, s.volume))
	d.woken = append(d.woken, s.key)
}

// Whatever schedules share volumes, and whatever becomes of their snapshots: no volume has more than
// it may, none gets two sooner than it may, nobody waits for ever, and nothing is remembered of what
// does not exist.
//
// Contract: LIMIT-3, LIMIT-4.
func TestVolumesAreNotOverfilled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDisks(rapid.IntRange(0, 3).Draw(t, "max"), time.Duration(rapid.IntRange(0, 3).Draw(t, "spacing"))*10*time.Minute)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			name := fmt.Sprintf("shop/%d/%d", rapid.IntRange(1, 3).Draw(t, "schedule"), rapid.IntRange(1, 2).Draw(t, "volume"))
			existing := slices.Sorted(maps.Keys(d.exists))
			switch action := rapid.IntRange(0, 7).Draw(t, "action"); {
			case action < 3:
				if _, wants := d.wants[name]; !wants {
					d.wants[name] = d.now
				}
				d.pass(t, name)
			case action == 3:
				d.wait(t, d.now.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "minutes"))*time.Minute))
			case action == 4:
				delete(d.wants, name)
				d.pass(t, name)
			case len(existing) == 0:
			case action == 5:
				d.show(rapid.SampledFrom(existing).Draw(t, "shown"))
			case action == 6:
				d.remove(rapid.SampledFrom(existing).Draw(t, "removed"))
			default:
				failed := rapid.SampledFrom(existing).Draw(t, "fails")
				if s := d.exists[failed]; !d.shown[failed] {
					delete(d.exists, failed)
					if d.last[s.volume].Equal(s.created) {
						delete(d.last, s.volume)
					}
					d.note(d.Failed(d.now, "shop", failed))
					d.wants[s.key] = d.now
					d.woken = append(d.woken, s.key)
				}
			}
			d.settle(t)
		}
		for round := 0; len(d.wants) > 0; round++ {
			if round > 20 {
				t.Fatalf("%v wait for ever", d.wants)
			}
			for _, name := range slices.Sorted(maps.Keys(d.exists)) {
				d.show(name)
				d.remove(name)
				d.settle(t)
			}
			d.wait(t, d.now.Add(time.Hour))
		}
		for _, name := range slices.Sorted(maps.Keys(d.exists)) {
			d.show(name)
			d.remove(name)
		}
		if d.settle(t); len(d.volumes)+len(d.waitsFor)+len(d.flights)+len(d.limits) > 0 {
			t.Fatalf("remembers %v, %v, %v", d.volumes, d.waitsFor, d.flights)
		}
	})
}

// Of two schedules of one volume, the one that has waited longer takes the place that becomes free, also if
// the other one is reconciled first.
//
// Contract: LIMIT-3.
func TestTheLongestWaitingTakesThePlaceOfAVolume(t *testing.T) {
	d := newDisks(1, 0)
	rapid.Check(t, func(t *rapid.T) {
		d = newDisks(1, 0)
		d.wants["shop/often/1"] = d.now
		d.pass(t, "shop/often/1")
		d.show("snapshot-1")
		d.wants["shop/seldom/1"], d.wants["shop/often/1"] = d.now.Add(-time.Hour), d.now
		d.pass(t, "shop/often/1")
		d.pass(t, "shop/seldom/1")
		d.remove("snapshot-1")
		d.pass(t, "shop/often/1")
		d.settle(t)
		if _, waits := d.wants["shop/seldom/1"]; waits {
			t.Fatal("the one that has waited longer still waits")
		}
	})
}

// Of two schedules of one volume, the one that has waited longer is next when the spacing has passed, also if the other one is reconciled
// first. If it does not ask, the other one waits no longer than ten seconds.
//
// Contract: LIMIT-4.
func TestTheLongestWaitingIsNextWhenTheSpacingHasPassed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const spacing = time.Hour / 2 // before readyDeadline, after which the volume has changed
		d := newDisks(0, spacing)
		d.wants["shop/often/1"] = d.now
		d.pass(t, "shop/often/1")
		d.show("snapshot-1")
		spaced := d.now.Add(spacing)
		d.wants["shop/seldom/1"], d.wants["shop/often/1"] = d.now.Add(-time.Hour), d.now
		d.pass(t, "shop/often/1")
		d.pass(t, "shop/seldom/1")
		waits := func(name string) bool { _, waits := d.wants[name]; return waits }
		if rapid.Bool().Draw(t, "the longest waiting asks") {
			d.wait(t, spaced)
			if waits("shop/seldom/1") || !waits("shop/often/1") {
				t.Fatal("the one that has waited longer is not next")
			}
			return
		}
		d.now = spaced
		if d.pass(t, "shop/often/1"); !waits("shop/often/1") {
			t.Fatal("it does not wait for the one that has waited longer")
		}
		d.now = spaced.Add(unsure)
		if d.pass(t, "shop/often/1"); waits("shop/often/1") {
			t.Fatal("it waits for one that does not ask")
		}
	})
}

// Whoever waits for a volume is woken when the schedule is deleted whose snapshots took the places: they count no more. So are that
// schedule's own keys, as one of its name may have asked already.
//
// Contract: LIMIT-3.
func TestADeletedScheduleFreesItsPlaces(t *testing.T) {
	g := newTester(0)
	for i, name := range []string{"shop/deleted/1", "shop/other/1"} {
		g.MayCreate(g.now, Create{
			Request: key(name), Snapshot: Snapshot{Namespace: "shop", Name: fmt.Sprint(i), Volumes: []string{"1"}},
			Volumes: []Volume{{Name: "1", Max: 1, Snapshots: []string{"old"}}}, Since: g.now,
		})
	}
	g.note(g.ParentDeleted(g.now, key("shop/deleted/1").Parent))
	slices.Sort(g.woken)
	if woken := slices.Compact(g.woken); !slices.Equal(woken, []string{"shop/deleted/1", "shop/other/1"}) {
		t.Errorf("wakes %v", woken)
	}
	if _, waits := g.waitsFor[key("shop/deleted/1")]; waits {
		t.Error("a key of the deleted schedule still waits")
	}
}
