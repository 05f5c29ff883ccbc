// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// users are those of the cluster, and backup tools. What they do is drawn from r, which is new for each of their actions.
type users struct {
	*world
	r                         *rand.Rand
	claimNames, scheduleNames []string
	quiet                     bool
}

// newUsers creates some PVCs and schedules.
func newUsers(w *world, r *rand.Rand) *users {
	u := &users{world: w, r: r}
	for i := range 1 + r.IntN(3) {
		u.claimNames = append(u.claimNames, fmt.Sprintf("data-%d", i))
	}
	for i := range 1 + r.IntN(3)/2 {
		u.scheduleNames = append(u.scheduleNames, fmt.Sprintf("plan-%d", i))
	}
	u.recreateClaims()
	u.recreateSchedules()
	return u
}

// actions are drawn by weight.
var actions = []struct {
	weight int
	name   string
	do     func(*users)
}{
	{12, "break a driver", func(u *users) { u.driver.modes[u.anyClaim()] = mode(u.r.IntN(int(modes))) }},
	{5, "repair a driver", func(u *users) { delete(u.driver.modes, u.anyClaim()) }},
	{5, "repair all drivers", func(u *users) { clear(u.driver.modes) }},
	{12, "let requests fail", (*users).setFaults},
	{8, "let requests succeed", func(u *users) { u.faults = faults{} }},
	{8, "freeze a watch", func(u *users) { u.freeze(pick(u.r, kube.Schedules, kube.Claims, kube.Snapshots), u.anyTime()) }},
	{5, "crash an operator", func(u *users) {
		if len(u.operators) > 0 {
			u.operators[0].crash()
		}
	}},
	{3, "start a second operator", (*users).startSecond},
	{6, "move clocks", (*users).moveClocks},
	{10, "delete a PVC", (*users).deleteClaim},
	{14, "create PVCs again", (*users).recreateClaims},
	{10, "relabel a PVC", (*users).relabelClaim},
	{6, "restore a snapshot", onSnapshot((*users).restore)},
	{6, "delete a snapshot", onSnapshot(func(u *users, s *snapshotv1.VolumeSnapshot) { u.delete(kube.Snapshots, s.Name) })},
	{6, "hold a snapshot", onSnapshot((*users).hold)},
	{4, "remove holds", (*users).removeHolds},
	{4, "release a snapshot", onSnapshot((*users).release)},
	{4, "restore a snapshot object", onSnapshot((*users).recreateSnapshot)},
	{4, "import a snapshot", onSnapshot((*users).importSnapshot)},
	{2, "copy a snapshot under another controller", onSnapshot((*users).copyForeign)},
	{8, "request a snapshot", (*users).requestNow},
	{16, "edit a schedule", (*users).editSchedule},
	{3, "break a spec", (*users).breakSpec},
	{4, "suspend a schedule", (*users).suspend},
	{3, "delete a schedule", (*users).deleteSchedule},
	{8, "create schedules again", (*users).recreateSchedules},
	// What the operator's caches do not show for hours: rare by chance, and what the guards before a delete are for.
	{3, "delete a schedule unseen", (*users).deleteScheduleUnseen},
	{3, "edit a schedule unseen", func(u *users) { u.freeze(kube.Schedules, u.hours()); u.editSchedule() }},
	{2, "break a spec unseen", func(u *users) { u.freeze(kube.Schedules, u.hours()); u.breakSpec() }},
	{5, "delete snapshots unseen", func(u *users) { u.freeze(kube.Snapshots, u.hours()); u.deleteNewest(u.anyClaim()) }},
	{5, "delete snapshots that stay", (*users).deleteStuck},
}

// act takes one action.
func (u *users) act() (name string) {
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	draw := u.r.IntN(total)
	for _, a := range actions {
		if draw -= a.weight; draw < 0 {
			u.locked(func() { a.do(u) })
			return a.name
		}
	}
	return ""
}

// onSnapshot does something with a snapshot, if there is one.
func onSnapshot(do func(*users, *snapshotv1.VolumeSnapshot)) func(*users) {
	return func(u *users) {
		if all := u.snapshots(); len(all) > 0 {
			do(u, pick(u.r, all...))
		}
	}
}

// later adds a consequence of an action, which is dropped if it would come when users are quiet.
func (u *users) later(d time.Duration, do func(u *users)) {
	seed := u.r.Uint64()
	u.after(d, func() {
		if !u.quiet {
			then := *u
			then.r = rand.New(rand.NewPCG(seed, 0))
			do(&then)
		}
	})
}

func (u *users) anyClaim() string     { return pick(u.r, u.claimNames...) }
func (u *users) anySchedule() string  { return pick(u.r, u.scheduleNames...) }
func (u *users) hours() time.Duration { return between(u.r, time.Hour, 2*day) }

func (u *users) anyTime() time.Duration {
	return pick(u.r, between(u.r, time.Second, time.Minute), between(u.r, time.Minute, 3*time.Hour), u.hours())
}

func (u *users) setFaults() {
	u.faults = faults{
		crashes: pick(u.r, 0, 0, 4, 30), refusals: pick(u.r, 0, 2, 6, 20), lost: pick(u.r, 0, 4, 20), delays: pick(u.r, 0, 2, 10),
		staleLists: oneIn(u.r, 2),
	}
}

// freeze lets no operator see a kind's events for a while, and half of the time none of those that it misses. Two operators with
// different views, or one whose status is refused every few seconds, would send many requests and find nothing new.
func (u *users) freeze(k kube.Kind, d time.Duration) {
	relist := oneIn(u.r, 2)
	for _, o := range u.operators {
		switch {
		case len(u.operators) > 1:
			d = min(d, 20*time.Second)
		case k == kube.Schedules:
			d = min(d, 3*time.Hour)
		}
		o.frozen[k], o.relist[k] = time.Now().Add(d), relist
	}
}

// startSecond starts a second operator for a while, as happens when a lease is lost without being noticed.
func (u *users) startSecond() {
	if len(u.operators) != 1 || slices.ContainsFunc(u.operators[0].frozen[:], time.Now().Before) {
		return
	}
	second := u.start()
	u.after(between(u.r, time.Minute, 90*time.Minute), func() {
		second.kill()
		u.restart()
	})
}

// moveClocks moves the operators' clock or the Date header for a while: by so little that it must be tolerated, or by so much that
// nothing may be deleted.
func (u *users) moveClocks() {
	off := pick(u.r, 20*time.Second, -20*time.Second, 40*time.Second, -40*time.Second, 5*time.Minute, -5*time.Minute,
		2*time.Hour, -2*time.Hour, day, -day, 3650*day, -3650*day)
	if oneIn(u.r, 3) {
		u.setClocks(0, off)
	} else {
		u.setClocks(off, 0)
	}
	u.later(between(u.r, time.Minute, 2*day), func(u *users) { u.setClocks(0, 0) })
}
