// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// steadyState is what the series of one PVC grows to under a spec.
type steadyState struct {
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

// steadyStateOf simulates the life of a new PVC under a spec.
func steadyStateOf(spec *v1alpha1.SnapshotScheduleSpec, now time.Time) (*steadyState, error) {
	now = now.Truncate(time.Second)
	keep := &spec.Retention.Keep
	state := &steadyState{}
	longest := time.Duration(0)
	add := func(field string, after time.Duration) {
		state.Fills = append(state.Fills, fill{field, metav1.Duration{Duration: after}})
		longest = max(longest, after)
	}
	bound := 0
	full, err := newLife(spec, now)
	if err != nil {
		return nil, err
	}
	if ttl := full.judge.TTL(); ttl > 0 {
		add("snapshotTTL: "+string(spec.SnapshotTTL), ttl)
		bound += full.slotsWithin(ttl)
	}
	for _, tier := range tiersOf(keep) {
		if tier.count == 0 {
			continue
		}
		bound += int(tier.count)
		if after, ok := fillOf(spec, tier, now); ok {
			add(tier.name+": "+strconv.Itoa(int(tier.count)), after)
		} else {
			state.Estimated = true
		}
	}
	if limit := int(ptr.Deref(spec.Retention.MaxCount, 0)); limit > 0 {
		bound = min(cmp.Or(bound, limit), limit)
	}
	state.Snapshots, state.Unlimited = bound, bound == 0
	if state.Estimated || len(state.Fills) == 0 {
		return state, nil
	}
	if peak, ok := peakOf(full, now.Add(2*longest), bound); ok {
		state.Snapshots = max(peak, 1)
	} else {
		state.Estimated = true
	}
	return state, nil
}

// peakOf returns the largest number of snapshots until a time. How far the periods
// of tiers overlap depends on the calendar, so the time should be twice what it
// takes to fill them.
func peakOf(life *simulation, until time.Time, bound int) (peak int, ok bool) {
	for life.now.Before(until) && peak < bound {
		if life.exhausted() {
			return 0, false
		}
		at, _, more := life.step()
		if life.now.After(at) {
			peak = max(peak, len(life.snapshots))
		}
		if !more {
			break
		}
	}
	return peak, true
}

// fillOf returns how long it takes until a tier is full.
func fillOf(spec *v1alpha1.SnapshotScheduleSpec, t tier, now time.Time) (time.Duration, bool) {
	alone := spec.DeepCopy()
	alone.SnapshotTTL, alone.Retention = "", v1alpha1.Retention{Keep: t.keep}
	life, err := newLife(alone, now)
	if err != nil {
		return 0, false
	}
	for !life.exhausted() {
		at, d, more := life.step()
		kept := 0
		for _, v := range d.Retention.Verdicts {
			if v.ByTier() {
				kept++
			}
		}
		if kept >= int(t.count) {
			return at.Sub(now), true
		}
		if !more {
			break
		}
	}
	return 0, false
}

// newLife simulates a PVC that is created together with a schedule of this spec.
func newLife(spec *v1alpha1.SnapshotScheduleSpec, now time.Time) (*simulation, error) {
	created := metav1.NewTime(now)
	s := &v1alpha1.SnapshotSchedule{Spec: *spec.DeepCopy()}
	s.Name, s.UID, s.CreationTimestamp = "steady", "steady", created
	s.Spec.Selector, s.Spec.StorageClassNames, s.Spec.Suspend, s.Spec.Retention.EditDelay = v1alpha1.LabelSelector{}, nil, false, ""
	s.Spec.SnapshotTemplate.Spec = v1alpha1.SnapshotTemplateSpec{} // any class fits
	judge, err := snapshots.NewJudge(scheme, s, snapshots.Classes{})
	if err != nil {
		return nil, err
	}
	claim := &corev1.PersistentVolumeClaim{}
	claim.Name, claim.UID, claim.CreationTimestamp = "steady", "steady", created
	claim.Status.Phase = corev1.ClaimBound
	return simulate(judge, now, &series{mapKey: "steady", claim: claim}), nil
}

// slotsWithin returns the number of slots in a time; at most a million.
func (sim *simulation) slotsWithin(d time.Duration) int {
	n, end := 0, sim.now.Add(d)
	for at := sim.now; n < 1_000_000; n++ {
		next := sim.judge.NextSlots(sim.claim, at, 1)
		if len(next) == 0 || !next[0].Before(end) {
			break
		}
		at = next[0]
	}
	return n + 1
}
