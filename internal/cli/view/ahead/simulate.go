// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ahead lets time pass over snapshots with the decisions of the operator, and compares what becomes of them.
//
//	simulate.go  lets time pass over a series, and what a series grows to
//	fates.go     how long the snapshots of a series stay
//	compare.go   what a change would do
//	stops.go     what would stop
package ahead

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Simulation lets time pass over one series, and does what the operator's plan
// says. It assumes that every snapshot is taken on time and is ready at once, that
// snapshots in progress become ready and restores end, and that nobody else
// changes anything.
type Simulation struct {
	judge *snapshots.Judge
	view.Series
	Now time.Time
	// settled is set once what was under way is complete.
	settled bool
	// steps counts the passes, work the snapshots that they judged, of which there are at most limit.
	steps, work, limit int
}

// MaxWork bounds a simulation, to a few seconds: a schedule of seconds would run
// for hours until a yearly snapshot is deleted.
const MaxWork = 3_000_000

// TenantWork bounds the simulations of all series of a namespace in a report, to half a minute: one tenant must not keep it from
// everybody.
const TenantWork = 10 * MaxWork

// Exhausted returns whether the simulation has taken all the steps that it may.
func (sim *Simulation) Exhausted() bool { return sim.work > sim.limit }

// Simulate starts at a time with a copy of the series.
func Simulate(judge *snapshots.Judge, now time.Time, from *view.Series) *Simulation {
	sim := &Simulation{judge: judge, Series: *from, Now: now, limit: MaxWork}
	sim.Snapshots = slices.Clone(from.Snapshots)
	return sim
}

// Step makes one pass and moves on to the time at which the next one may differ.
// It returns the judgment, the time at which it was made, and false if nothing
// will change any more.
func (sim *Simulation) Step() (at time.Time, d snapshots.Judgment, more bool) {
	at = sim.Now
	if sim.steps == 0 {
		d = sim.judge.Judge(at, sim.Judged())
		sim.Snapshots = d.Outputs
	} else {
		d = sim.judge.Again(at, sim.Judged())
	}
	changes := len(d.Adopt)+len(d.Release) > 0 // deletes wait for them
	again := sim.apply(&d) || changes
	if !sim.settled && !changes {
		sim.settle(&d)
		sim.settled, again = true, true
	}
	sim.steps++
	sim.work += len(sim.Snapshots) + 1
	switch {
	case again:
		return at, d, true
	case !d.Next.After(at):
		return at, d, false
	}
	sim.Now = d.Next
	return at, d, true
}

// apply does what a judgment says. It returns whether another pass at the same
// time may do more. A delete leads to more only if it clears the way for a
// snapshot that is due.
func (sim *Simulation) apply(d *snapshots.Judgment) bool {
	if len(d.Delete)+len(d.Create) == 0 {
		return false
	}
	sim.Snapshots = slices.Clone(sim.Snapshots) // the judgment refers to the others
	if len(d.Delete) > 0 {
		gone := make(map[string]bool, len(d.Delete))
		for _, removal := range d.Delete {
			gone[removal.Object.GetName()] = true
		}
		sim.Snapshots = slices.DeleteFunc(sim.Snapshots, func(o client.Object) bool { return gone[o.GetName()] })
	}
	created := metav1.NewTime(sim.Now.Truncate(time.Second))
	for _, o := range d.Create {
		switch v := o.(type) {
		case *snapshotv1.VolumeSnapshot:
			v.CreationTimestamp, v.Status = created, view.ReadyStatus(created)
		case *groupv1.VolumeGroupSnapshot:
			sim.Members = append(slices.Clip(sim.Members), snapshots.Complete(v, created)...)
		}
		sim.Snapshots = append(sim.Snapshots, o)
	}
	return len(d.Create) > 0 || d.Retention.Take.Due
}

// settle completes what was under way when the simulation began: snapshots that
// are being taken or deleted, and restores.
func (sim *Simulation) settle(d *snapshots.Judgment) {
	sim.Restores = nil
	sim.Snapshots = slices.Clone(sim.Snapshots)
	for i := range d.Series.Snapshots {
		s, o := &d.Series.Snapshots[i], d.Outputs[i]
		at := slices.IndexFunc(sim.Snapshots, func(v client.Object) bool { return v.GetName() == o.GetName() })
		if at < 0 {
			continue
		}
		switch s.State(sim.Now, sim.judge.ReadyDeadline()) {
		case retention.Terminating:
			sim.Snapshots = slices.Delete(sim.Snapshots, at, at+1)
		case retention.InProgress:
			switch v := sim.Snapshots[at].DeepCopyObject().(type) {
			case *snapshotv1.VolumeSnapshot:
				v.Status = view.ReadyStatus(v.CreationTimestamp)
				sim.Snapshots[at] = v
			case *groupv1.VolumeGroupSnapshot:
				sim.Members = append(slices.Clip(sim.Members), snapshots.Complete(v, v.CreationTimestamp)...)
				sim.Snapshots[at] = v
			}
		}
	}
}

// life lets time pass over a series that has become regular: nothing but new snapshots
// and the passing of time changes it. Retention alone decides, about values.
type life struct {
	policy retention.Policy
	// slots returns the next slot after a time; zero if there is none.
	slots func(after time.Time) time.Time
	// series has the snapshots that are left. Those taken after the beginning have
	// no name.
	series []retention.Snapshot
	now    time.Time
	// slot is the next one, next is when time alone may change the verdicts.
	slot, next time.Time
	// ended is called for each snapshot with a name that is deleted.
	ended func(name string, at time.Time, v retention.Verdict)
	// work counts the snapshots that were judged, of which there are at most limit.
	work, limit int
}

// regular returns whether a simulation in which snapshots are taken can be
// continued as a life.
func regular(d *snapshots.Judgment, now time.Time) bool {
	s := &d.Series
	return d.Group == "" && s.Claim == retention.Selected && !s.ClaimDeleting &&
		!slices.ContainsFunc(s.Snapshots, func(s retention.Snapshot) bool {
			return !s.ReadyToUse || s.Deleting || s.Imported || s.Created.After(now) || s.HasCutTime && s.CutTime.After(now) ||
				s.ScheduledAt.IsZero() || s.ScheduledAt.After(s.Created)
		})
}

// step moves on to the next slot, or to the time before it at which the verdicts may
// change. It returns the verdicts, after which those snapshots are gone that they delete;
// none if nothing changes until a time.
func (l *life) step(until time.Time) []retention.Verdict {
	if !l.slot.After(l.now) {
		l.slot = l.slots(l.now)
	}
	at := l.slot
	if !l.next.IsZero() && (at.IsZero() || l.next.Before(at)) {
		at = l.next
	}
	if at.IsZero() || at.After(until) || l.exhausted() {
		return nil
	}
	if at.Equal(l.slot) {
		l.series = append(l.series, retention.Snapshot{Created: at, ScheduledAt: at, ReadyToUse: true, HasCutTime: true, CutTime: at})
	}
	d := retention.Decide(l.policy, at, retention.Series{Claim: retention.Selected, Snapshots: l.series})
	l.now, l.next, l.work = at, d.Next, l.work+len(l.series)+1
	left := 0
	for i, v := range d.Verdicts {
		switch s := &l.series[i]; {
		case v.Delete() && s.Name != "":
			l.ended(s.Name, at, v)
		case !v.Delete():
			if left < i {
				l.series[left] = *s
			}
			left++
		}
	}
	l.series = l.series[:left]
	return d.Verdicts
}

// exhausted returns whether the simulation would take too long.
func (l *life) exhausted() bool { return l.work > l.limit }

// SteadyState is what the series of one PVC grows to under a spec.
type SteadyState struct {
	// Snapshots is the largest number of snapshots; zero if there is no limit. One
	// more exists while a new one is taken, before the oldest is deleted.
	Snapshots int `json:"snapshots,omitempty"`
	// Estimated is set if Snapshots is an upper bound, because the simulation would
	// take too long.
	Estimated bool `json:"estimated,omitempty"`
	Unlimited bool `json:"unlimited,omitempty"`
	// Fills say how long it takes until the TTL and each tier are full.
	Fills []fill `json:"fills,omitempty"`
}

type fill struct {
	Field string          `json:"field"`
	After metav1.Duration `json:"after"`
}

// SteadyStateOf simulates the life of a new PVC under a spec.
func SteadyStateOf(spec *v1alpha1.SnapshotScheduleSpec, now time.Time) (*SteadyState, error) {
	now = now.Truncate(time.Second)
	state := &SteadyState{}
	longest, bound := time.Duration(0), 0
	add := func(field string, after time.Duration) {
		state.Fills = append(state.Fills, fill{field, metav1.Duration{Duration: after}})
		longest = max(longest, after)
	}
	full, err := newLife(spec, now)
	if err != nil {
		return nil, err
	}
	if ttl := full.policy.TTL; ttl > 0 {
		add("snapshotTTL: "+string(spec.SnapshotTTL), ttl)
		for slot := full.slots(full.now); bound < maxSlots && !slot.IsZero() && slot.Before(now.Add(ttl)); slot = full.slots(slot) {
			bound++
		}
	}
	for _, tier := range view.TiersOf(&spec.Retention.Keep) {
		if tier.Count == 0 {
			continue
		}
		bound += int(tier.Count)
		if after, ok := fillOf(spec, tier, now); ok {
			add(tier.Name+": "+strconv.Itoa(int(tier.Count)), after)
		} else {
			state.Estimated = true
		}
	}
	if limit := full.policy.MaxCount; limit > 0 {
		bound = min(cmp.Or(bound, limit), limit)
	}
	if state.Unlimited = bound == 0; state.Unlimited {
		return state, nil
	}
	// The floor is kept beyond all limits. What only minVerified keeps is beside the others, and depends on drills.
	bound = max(bound, full.policy.MinReady)
	state.Snapshots = bound + full.policy.MinVerified
	if state.Estimated || len(state.Fills) == 0 {
		return state, nil
	}
	// How far the periods of tiers overlap depends on the calendar, so the time is twice
	// what it takes to fill them.
	peak := full.peak(bound, now.Add(2*longest))
	if state.Estimated = full.exhausted(); !state.Estimated {
		state.Snapshots = peak + full.policy.MinVerified
	}
	return state, nil
}

// peak returns the largest number of snapshots, at most a bound, until a time, and until the floor can be full.
func (l *life) peak(bound int, until time.Time) int {
	for floor, slot := 0, l.slots(l.now); floor < l.policy.MinReady && !slot.IsZero(); floor, slot = floor+1, l.slots(slot) {
		if slot.After(until) {
			until = slot
		}
	}
	peak := 1
	for ; peak < bound; peak = max(peak, len(l.series)) {
		if l.step(until) == nil {
			break
		}
	}
	return peak
}

// maxSlots bounds the slots that are counted for a TTL.
const maxSlots = 1_000_000

// fillOf returns how long it takes until a tier is full.
func fillOf(spec *v1alpha1.SnapshotScheduleSpec, t view.Tier, now time.Time) (time.Duration, bool) {
	alone := spec.DeepCopy()
	alone.SnapshotTTL, alone.Retention = "", v1alpha1.Retention{Keep: t.Keep}
	l, err := newLife(alone, now)
	for err == nil {
		verdicts := l.step(now.Add(MaxAhead))
		kept := 0
		for _, v := range verdicts {
			if v.ByTier() {
				kept++
			}
		}
		switch {
		case kept >= int(t.Count):
			return l.now.Sub(now), true
		case verdicts == nil:
			return 0, false
		}
	}
	return 0, false
}

// newLife returns the life of a PVC that is created together with a schedule of this spec.
func newLife(spec *v1alpha1.SnapshotScheduleSpec, now time.Time) (*life, error) {
	created := metav1.NewTime(now)
	s := &v1alpha1.SnapshotSchedule{Spec: *spec.DeepCopy()}
	s.Name, s.UID, s.CreationTimestamp = "steady", "steady", created
	s.Spec.Selector, s.Spec.StorageClassNames, s.Spec.Suspend = v1alpha1.LabelSelector{}, nil, false
	s.Spec.SnapshotTemplate.Spec, s.Spec.Group = v1alpha1.SnapshotTemplateSpec{}, nil // any class fits, and a group is like a PVC
	judge, err := snapshots.NewJudge(term.Scheme, s, snapshots.Classes{})
	if err != nil {
		return nil, err
	}
	claim := &corev1.PersistentVolumeClaim{}
	claim.Name, claim.UID, claim.CreationTimestamp = "steady", "steady", created
	return &life{limit: MaxWork, policy: judge.Policy(), slots: slotsOf(judge, snapshots.Series{
		MapKey: "steady", Claims: []*corev1.PersistentVolumeClaim{claim},
	}), now: now.Add(-1)}, nil // the first slot may be now
}

// slotsOf returns the next slot of a series after a time.
func slotsOf(judge *snapshots.Judge, of snapshots.Series) func(time.Time) time.Time {
	return func(after time.Time) time.Time {
		for _, slot := range judge.NextSlots(of, after, 1) {
			return slot
		}
		return time.Time{}
	}
}

// MaxAhead is how far why looks into the future.
const MaxAhead = 100 * 365 * term.Day
