// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Volume is what is known of the volume of a PVC when a snapshot of it is to be created.
type Volume struct {
	Name string
	// Max is how many snapshots it may have, and Spacing is how far apart they must be created;
	// zero: any number, and any time.
	Max     int
	Spacing time.Duration
	// Snapshots are the names of those that exist, of all schedules, and Newest is when the
	// last of them was created.
	Snapshots []string
	Newest    time.Time
}

func (v *Volume) limited() bool { return v.Max > 0 || v.Spacing > 0 }

// volume is what is remembered of one.
type volume struct {
	flights map[id]*flight
	waiting map[Request]volumeWaiter
	// woken is the key that was woken: until wokenUntil, no other may create a snapshot instead.
	woken      Request
	wokenUntil time.Time
}

// volumeWaiter is a key that waits for a volume: of which driver, and since when it lacks a
// snapshot.
type volumeWaiter struct {
	limit string
	since time.Time
}

// lastCreate is when a snapshot of a volume was created, and until when that matters.
type lastCreate struct{ at, until time.Time }

// refuses returns why a volume takes no snapshot now, which one, and when that may have changed
// without an event; zero: never.
func (l *Limits) refuses(now time.Time, c *Create) (why Reason, of string, until time.Time) {
	for i := range c.Volumes {
		if volume := &c.Volumes[i]; volume.limited() {
			if why, until = l.volumeRefuses(now, c, volume); why != "" {
				return why, volume.Name, until
			}
		}
	}
	return "", "", time.Time{}
}

func (l *Limits) volumeRefuses(now time.Time, c *Create, volume *Volume) (why Reason, until time.Time) {
	count, newest := len(volume.Snapshots), volume.Newest
	if v := l.volumes[volume.Name]; v != nil {
		if v.woken != c.Request && now.Before(v.wokenUntil) {
			return VolumeLimit, v.wokenUntil
		}
		for _, f := range v.flights {
			if !slices.Contains(volume.Snapshots, f.id.snapshot) { // the cache has it only since it was read, or not yet
				count, newest = count+1, now
				if end := f.end(); until.IsZero() || end.Before(until) {
					until = end
				}
			}
		}
	}
	if volume.Max > 0 && count >= volume.Max {
		return VolumeLimit, until
	}
	if at := l.created[volume.Name].at; at.After(newest) {
		newest = at
	}
	if newest.After(now) { // by a clock that is ahead
		newest = now
	}
	if next := newest.Add(l.spacing(c, volume)); now.Before(next) {
		return Spacing, next
	}
	return "", time.Time{}
}

// spacing returns how long after the newest snapshot of a volume a key may create the next one. All that wait are woken at once: the one
// that has lacked a snapshot longest takes its place first.
func (l *Limits) spacing(c *Create, volume *Volume) time.Duration {
	if v := l.volumes[volume.Name]; v != nil && volume.Spacing > 0 {
		for req, w := range v.waiting {
			if req != c.Request && w.since.Before(c.Since) {
				return volume.Spacing + unsure
			}
		}
	}
	return volume.Spacing
}

// volumeOf returns what is remembered of a volume. It is forgotten when nothing is left of it.
func (l *Limits) volumeOf(name string) *volume {
	v := l.volumes[name]
	if v == nil {
		v = &volume{flights: map[id]*flight{}, waiting: map[Request]volumeWaiter{}}
		l.volumes[name] = v
	}
	return v
}

func (l *Limits) forgetVolume(name string) {
	if v := l.volumes[name]; v != nil && len(v.flights) == 0 && len(v.waiting) == 0 {
		delete(l.volumes, name)
	}
}

// waitFor makes a key wait for a volume.
func (l *Limits) waitFor(now time.Time, c *Create, volume string, until time.Time) {
	v := l.volumeOf(volume)
	v.waiting[c.Request] = volumeWaiter{limit: c.Snapshot.Limit, since: c.Since}
	l.waitsFor[c.Request] = volume
	if !until.IsZero() {
		l.wake = append(l.wake, Wake{Request: c.Request, After: until.Sub(now)})
	}
}

// leaveVolume makes a key wait for no volume. It returns the volume for which it was woken, so that
// another key can be.
func (l *Limits) leaveVolume(req Request) (of string) {
	name, waits := l.waitsFor[req]
	if !waits {
		return ""
	}
	delete(l.waitsFor, req)
	v := l.volumes[name]
	delete(v.waiting, req)
	if v.woken == req {
		v.woken, v.wokenUntil, of = Request{}, time.Time{}, name
	}
	l.forgetVolume(name)
	return of
}

// volumeChanged wakes the keys that wait for a volume: the one that has lacked a snapshot
// longest, and after some time, in which that one may take its place, the others.
func (l *Limits) volumeChanged(now time.Time, name string) {
	v := l.volumes[name]
	if v == nil || len(v.waiting) == 0 {
		return
	}
	keys := make([]Request, 0, len(v.waiting))
	for req := range v.waiting {
		keys = append(keys, req)
	}
	slices.SortFunc(keys, func(a, b Request) int {
		if c := v.waiting[a].since.Compare(v.waiting[b].since); c != 0 {
			return c
		}
		return strings.Compare(a.Parent.String()+a.MapKey, b.Parent.String()+b.MapKey)
	})
	v.woken, v.wokenUntil = keys[0], now.Add(unsure)
	l.wake = append(l.wake, Wake{Request: keys[0]})
	for _, req := range keys[1:] {
		l.wake = append(l.wake, Wake{Request: req, After: unsure})
	}
}

// parentLeavesVolumes makes the keys of a parent wait for no volume, and wakes them and those
// of its namespace: its snapshots may count no more.
func (l *Limits) parentLeavesVolumes(now time.Time, parent types.NamespacedName) {
	for req, name := range l.waitsFor {
		if req.Parent.Namespace != parent.Namespace {
			continue
		}
		if req.Parent == parent {
			l.volumeChanged(now, l.leaveVolume(req))
			l.wake = append(l.wake, Wake{Request: req})
		} else {
			l.volumeChanged(now, name)
		}
	}
}

// spaced remembers when a snapshot of a volume was created: it may be deleted before the next
// one. It forgets some that no longer matter.
func (l *Limits) spaced(now time.Time, c *Create) {
	if !slices.ContainsFunc(c.Volumes, func(v Volume) bool { return v.Spacing > 0 }) {
		return
	}
	old := 0
	for name, last := range l.created {
		if now.After(last.until) {
			delete(l.created, name)
		}
		if old++; old == 2 {
			break
		}
	}
	for _, v := range c.Volumes {
		if v.Spacing > 0 {
			l.created[v.Name] = lastCreate{at: now, until: now.Add(v.Spacing)}
		}
	}
}
