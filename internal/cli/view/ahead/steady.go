// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package ahead

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// SteadyState is what the series of one PVC grows to under a spec.
type SteadyState struct {
	// Snapshots is the largest number of snapshots; zero if there is no limit. One
	// more exists while a new one is taken, before the oldest is deleted.
	Snapshots int `json:"snapshots,omitempty"`
	// Estimated is set if Snapshots is an upper bound, because the simulation would
	// take too long.
	Estimated bool `json:"estimated,omitempty"`
	Unlimited bool `json:"unlimited,omitempty"`
}

// SteadyStateOf simulates a new PVC under a spec, until its series grows no more.
func SteadyStateOf(spec *v1alpha1.SnapshotScheduleSpec, now time.Time) (*SteadyState, error) {
	now = now.Truncate(time.Second)
	s := &v1alpha1.SnapshotSchedule{Spec: *spec.DeepCopy()}
	s.Name, s.UID, s.CreationTimestamp = "steady", "steady", metav1.NewTime(now)
	s.Spec.Selector, s.Spec.StorageClassNames, s.Spec.Suspend = v1alpha1.LabelSelector{}, nil, false
	s.Spec.SnapshotTemplate.Spec, s.Spec.Group = v1alpha1.SnapshotTemplateSpec{}, nil // any class fits, and a group is like a PVC
	judge, err := snapshots.NewJudge(term.Scheme, snapshots.Recorded(s, now), snapshots.Classes{})
	if err != nil {
		return nil, err
	}
	most, unlimited := judge.KeepsAtMost()
	state := &SteadyState{Snapshots: most, Unlimited: unlimited}
	policy := judge.Policy()
	if unlimited || policy.TTL == 0 && policy.Keep == (retention.Tiers{}) { // maxCount alone is exact
		return state, nil
	}
	claim := &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}
	claim.Name, claim.UID, claim.CreationTimestamp = "steady", "steady", metav1.NewTime(now)
	sim := Simulate(judge, now, &view.Series{MapKey: "steady", Claim: claim})
	// What only minVerified keeps is beside the others, and depends on drills.
	peak, grown, before, longest := 0, now, now, longestOf(policy)
	state.Estimated = true
	for p := range sim.passes(now.Add(MaxAhead)) {
		if p.kept > peak {
			peak, grown = p.kept, p.at
		}
		// How far the periods of tiers overlap depends on the calendar, so the time is at least twice what it takes to fill them.
		longest, before = max(longest, p.at.Sub(before)), p.at
		if peak+policy.MinVerified >= most || p.at.Sub(grown) > max(2*longest, grown.Sub(now)) {
			state.Snapshots, state.Estimated = peak+policy.MinVerified, false
			break
		}
	}
	return state, nil
}

// longestOf returns the longest time after which a series that is not full yet grows: the TTL, or the period of a tier.
func longestOf(policy retention.Policy) (longest time.Duration) {
	longest = policy.TTL
	for tier, n := range policy.Keep {
		if n > 0 {
			longest = max(longest, retention.TierTable[tier].Longest)
		}
	}
	return longest
}

// Words say how many snapshots there will be.
func (s *SteadyState) Words() string {
	about := ""
	switch {
	case s.Unlimited:
		return "no limit"
	case s.Estimated:
		about = "about "
	}
	return fmt.Sprintf("at most %s%s per PVC", about, term.Plural(s.Snapshots, "snapshot"))
}

// MaxAhead is how far why looks into the future.
const MaxAhead = 100 * 365 * term.Day
