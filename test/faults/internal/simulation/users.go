// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// users are those of the cluster, and backup tools. What they do is drawn from r, which is new for each of their actions.
type users struct {
	*world
	r                         *rand.Rand
	claimNames, scheduleNames []string
	actions                   []action
	parts                     []specPart
	quiet                     bool
}

// newUsers creates some PVCs and schedules.
func newUsers(w *world, r *rand.Rand) *users {
	u := &users{world: w, r: r, actions: slices.Concat(actions, singleActions), parts: specParts}
	if w.takesGroups {
		u.actions, u.parts = slices.Concat(actions, groupActions), groupParts
	}
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

// action is drawn by its weight.
type action struct {
	weight int
	name   string
	do     func(*users)
}

// actions are those of all users.
var actions = []action{
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
	{16, "edit a schedule", (*users).editSchedule},
	{3, "break a spec", (*users).breakSpec},
	{4, "suspend a schedule", (*users).suspend},
	{3, "delete a schedule", (*users).deleteSchedule},
	{8, "create schedules again", (*users).recreateSchedules},
	// What the operator's caches do not show for hours: rare by chance, and what the guards before a delete are for.
	{3, "delete a schedule unseen", (*users).deleteScheduleUnseen},
	{3, "edit a schedule unseen", func(u *users) { u.freeze(kube.Schedules, u.hours()); u.editSchedule() }},
	{2, "break a spec unseen", func(u *users) { u.freeze(kube.Schedules, u.hours()); u.breakSpec() }},
}

// singleActions are those of users whose schedules take single snapshots.
var singleActions = []action{
	{4, "restore a snapshot object", onSnapshot((*users).recreateSnapshot)},
	{4, "import a snapshot", onSnapshot((*users).importSnapshot)},
	{2, "copy a snapshot under another controller", onSnapshot((*users).copyForeign)},
	{8, "request a snapshot", (*users).requestNow},
	{5, "delete snapshots unseen", func(u *users) { u.freeze(kube.Snapshots, u.hours()); u.deleteNewest(u.anyClaim()) }},
	{5, "delete snapshots that stay", (*users).deleteStuck},
}

// act takes one action.
func (u *users) act() (name string) {
	total := 0
	for _, a := range u.actions {
		total += a.weight
	}
	draw := u.r.IntN(total)
	for _, a := range u.actions {
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

// What users do to schedules.

func (u *users) recreateSchedules() {
	for _, name := range u.scheduleNames {
		u.createSchedule(name)
	}
}

func (u *users) createSchedule(name string) {
	if u.schedule(name) != nil {
		return
	}
	spec := v1alpha1.SnapshotScheduleSpec{}
	for _, draw := range u.parts {
		draw(u.r, &spec)
	}
	u.create(&v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
}

func (w *world) editSpec(name string, change func(*v1alpha1.SnapshotScheduleSpec)) {
	w.edit(kube.Schedules, name, func(o client.Object) { change(&o.(*v1alpha1.SnapshotSchedule).Spec) })
}

// editSchedule draws one part of a spec again, and repairs an invalid spec.
func (u *users) editSchedule() {
	draw := pick(u.r, u.parts...)
	u.editSpec(u.anySchedule(), func(spec *v1alpha1.SnapshotScheduleSpec) {
		draw(u.r, spec)
		repairSpec(u.r, spec)
	})
}

const (
	neverFires  = "0 0 30 2 *"
	unknownZone = "Mars/Olympus_Mons"
)

// breakSpec makes a spec invalid in a way that only the controller detects, until the next edit or for some time.
func (u *users) breakSpec() {
	name := u.anySchedule()
	u.editSpec(name, func(spec *v1alpha1.SnapshotScheduleSpec) {
		switch {
		case spec.Schedule == "":
			spec.Jitter = spec.SnapshotInterval
		case oneIn(u.r, 2):
			spec.Schedule = neverFires
		default:
			spec.TimeZone = unknownZone
		}
	})
	u.later(between(u.r, time.Minute, 5*day), func(u *users) {
		u.editSpec(name, func(spec *v1alpha1.SnapshotScheduleSpec) { repairSpec(u.r, spec) })
	})
}

func repairSpec(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	if spec.Schedule == neverFires || spec.TimeZone == unknownZone || spec.Jitter != "" && spec.Jitter == spec.SnapshotInterval {
		drawTimes(r, spec)
	}
}

func (u *users) suspend() {
	name := u.anySchedule()
	u.editSpec(name, func(spec *v1alpha1.SnapshotScheduleSpec) { spec.Suspend = true })
	u.later(between(u.r, time.Hour, 4*day), func(u *users) {
		u.editSpec(name, func(spec *v1alpha1.SnapshotScheduleSpec) { spec.Suspend = false })
	})
}

func (u *users) deleteSchedule() {
	name := u.anySchedule()
	policy := pick(u.r, metav1.DeletePropagationBackground, metav1.DeletePropagationBackground,
		metav1.DeletePropagationOrphan, metav1.DeletePropagationOrphan, metav1.DeletePropagationForeground)
	must(client.IgnoreNotFound(u.server.Delete(kube.Schedules, name, metav1.DeleteOptions{PropagationPolicy: &policy})))
	if oneIn(u.r, 2) { // and creates it again, perhaps before the operator has seen the deletion
		u.later(between(u.r, 10*time.Millisecond, 2*time.Minute), func(u *users) { u.createSchedule(name) })
	}
}

// deleteScheduleUnseen deletes a schedule that has the operator's finalizer.
func (u *users) deleteScheduleUnseen() {
	for _, name := range u.scheduleNames {
		s := u.schedule(name)
		if s != nil && s.DeletionTimestamp == nil && slices.Contains(s.Finalizers, v1alpha1.FinalizerRelease) {
			u.freeze(kube.Schedules, u.hours())
			u.delete(kube.Schedules, name)
			return
		}
	}
}

// specPart draws a part of a spec, on its own, so that an edit can draw a single one.
type specPart func(*rand.Rand, *v1alpha1.SnapshotScheduleSpec)

var (
	sharedParts = []specPart{drawTTL, drawKeep, drawMaxCount, drawMinReady, drawDetached, drawDeadlines, drawPolicy}
	specParts   = append([]specPart{drawTimes, drawSelector}, sharedParts...)
	groupParts  = append([]specPart{drawGroup, drawTimes}, sharedParts...)
)

func drawKeep(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.Retention.Keep = pick(r,
		v1alpha1.Keep{}, v1alpha1.Keep{}, v1alpha1.Keep{Last: 3}, v1alpha1.Keep{Daily: 4},
		v1alpha1.Keep{Hourly: 6, Daily: 3, Weekly: 2}, v1alpha1.Keep{Last: 1, Monthly: 2}, v1alpha1.Keep{Weekly: 3, Yearly: 1},
	)
}

func drawMaxCount(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.Retention.MaxCount = nil
	if spec.SnapshotTTL == "" || oneIn(r, 3) {
		spec.Retention.MaxCount = new(pick(r, int32(1), 3, 8, 20))
	}
}

func drawMinReady(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.Retention.MinReady = new(pick(r, int32(0), 1, 1, 2, 4))
}

func drawDetached(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.Retention.Detached = v1alpha1.DetachedRetention{
		SnapshotTTL: pick[v1alpha1.Duration](r, "", "", "1d", "5d"), MinReady: pick(r, int32(0), 0, 1, 2),
	}
}

func drawDeadlines(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.ReadyDeadline = pick[v1alpha1.Duration](r, "1h", "1h", "10m", "4h")
	spec.StartingDeadline = pick[v1alpha1.Duration](r, "", "", "", "2h")
}

func drawPolicy(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.DeletionPolicy = pick(r, v1alpha1.DeletionDelete, v1alpha1.DeletionDelete, v1alpha1.DeletionOrphan)
}

// drawGroup has the schedule take group snapshots. Their slots are those of a cron line, which are the same for each PVC.
func drawGroup(_ *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.Group, spec.Selector.MatchLabels = &v1alpha1.Group{}, map[string]v1alpha1.LabelValue{appLabel: "a"}
}

func drawTimes(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.SnapshotInterval, spec.Schedule, spec.TimeZone, spec.Jitter = "", "", "", ""
	if spec.Group != nil || oneIn(r, 3) {
		spec.Schedule = pick[v1alpha1.CronLine](r, "30 2 * * *", "0 */6 * * *", "15 8,20 * * *", "@daily", "5 1 * * *")
		spec.TimeZone = pick(r, "", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
		if spec.Group == nil {
			spec.Jitter = pick[v1alpha1.Duration](r, "", "", "10m")
		}
		return
	}
	spec.SnapshotInterval = pick[v1alpha1.Duration](r, "3h", "6h", "8h", "12h", "1d", "1d", "1d6h")
	spec.Jitter = pick[v1alpha1.Duration](r, "", "", "15m", "1h")
}

func drawSelector(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.Selector = pick(r,
		v1alpha1.LabelSelector{},
		v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{appLabel: "a"}},
		v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{appLabel: "a"}},
		v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelSelectorRequirement{
			{Key: appLabel, Operator: metav1.LabelSelectorOpIn, Values: []v1alpha1.LabelValue{"a", "b"}},
		}},
	)
}

func drawTTL(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.SnapshotTTL = pick[v1alpha1.Duration](r, "2h", "1d", "3d", "3d", "7d", "10d", "")
	if spec.SnapshotTTL == "" && spec.Retention.MaxCount == nil {
		spec.Retention.MaxCount = new(int32(10))
	}
}
