// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"maps"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Set are the snapshots of all PVCs of a schedule at a time.
type Set struct {
	Members []Member // by the name of the PVC
	Missing []Absent // PVCs that belong to the set and have no ready snapshot of that time
	LeftOut []Absent // series that had ended by then
}

// Member is the snapshot of one PVC in a set.
type Member struct {
	Claim    string
	Snapshot *snapshotv1.VolumeSnapshot
	Time     time.Time
}

// Absent is a PVC without a snapshot in a set.
type Absent struct{ Claim, Reason string }

// Skew returns the time between the earliest and the latest snapshot of a set.
func (s *Set) Skew() time.Duration {
	if len(s.Members) == 0 {
		return 0
	}
	return s.Latest().Sub(slices.MinFunc(s.Members, byTime).Time)
}

// Latest returns the time of the latest snapshot of a set that is not empty.
func (s *Set) Latest() time.Time { return slices.MaxFunc(s.Members, byTime).Time }

func byTime(a, b Member) int { return a.Time.Compare(b.Time) }

// series are the snapshots of one map key.
type series struct {
	key       string
	claim     *corev1.PersistentVolumeClaim // nil if it is gone, or no longer selected
	snapshots []*snapshotv1.VolumeSnapshot
	chosen    *snapshotv1.VolumeSnapshot
}

func (s *series) name() string {
	if s.claim != nil {
		return s.claim.Name
	}
	for _, v := range s.snapshots {
		if name := claimName(v); name != "" {
			return name
		}
	}
	return s.key
}

// SetAt returns the set of a schedule at a time. snapshots are those with the
// schedule's label, claims the PVCs that it selects now.
func SetAt(snapshots []snapshotv1.VolumeSnapshot, claims []corev1.PersistentVolumeClaim, asOf, now time.Time) Set {
	all := seriesOf(snapshots, claims)
	for _, s := range all {
		s.chosen = Newest(s.snapshots, asOf, now)
	}
	var set Set
	for _, s := range all {
		switch reason := leftOut(s, all, asOf, now); {
		case s.chosen == nil:
			if missing := missing(s, asOf, now); missing != "" {
				set.Missing = append(set.Missing, Absent{s.name(), missing})
			}
		case reason != "":
			set.LeftOut = append(set.LeftOut, Absent{s.name(), reason})
		default:
			set.Members = append(set.Members, Member{Claim: s.name(), Snapshot: s.chosen, Time: Time(s.chosen, now)})
		}
	}
	return set
}

// seriesOf groups snapshots by their map keys, ordered by the names of the PVCs.
func seriesOf(snapshots []snapshotv1.VolumeSnapshot, claims []corev1.PersistentVolumeClaim) []*series {
	byKey := map[string]*series{}
	of := func(key string) *series {
		if byKey[key] == nil {
			byKey[key] = &series{key: key}
		}
		return byKey[key]
	}
	for i := range claims {
		of(string(claims[i].UID)).claim = &claims[i]
	}
	for i := range snapshots {
		// Without a map key it was released.
		if key := snapshots[i].Labels[v1alpha1.LabelMapKey]; key != "" {
			s := of(key)
			s.snapshots = append(s.snapshots, &snapshots[i])
		}
	}
	return slices.SortedFunc(maps.Values(byKey), func(a, b *series) int {
		return cmp.Or(cmp.Compare(a.name(), b.name()), cmp.Compare(a.key, b.key))
	})
}

// missing returns why a series without a snapshot of the time should have had one;
// empty if it did not exist then, or had no data.
func missing(s *series, asOf, now time.Time) string {
	started := s.claim != nil && s.claim.Status.Phase != corev1.ClaimPending && !s.claim.CreationTimestamp.After(asOf)
	unready := 0
	for _, v := range s.snapshots {
		if !Time(v, now).After(asOf) {
			unready++
		}
	}
	switch {
	case unready > 0:
		return "its snapshots of that time are not ready"
	case started && len(s.snapshots) > 0:
		return "its snapshots are all later"
	case started:
		return "it has no snapshot"
	}
	return ""
}

// leftOut returns why a series whose PVC is gone is no part of the set; empty if it
// is. Nothing says when a PVC was deleted. But while a schedule took two snapshots
// of another PVC, it would have taken one of this PVC too.
func leftOut(s *series, all []*series, asOf, now time.Time) string {
	if s.claim != nil || s.chosen == nil || s.taken(asOf, now, now) > 0 {
		return ""
	}
	at := Time(s.chosen, now)
	for _, other := range all {
		if other == s || other.chosen == nil {
			continue
		}
		if other.name() == s.name() && Time(other.chosen, now).After(at) {
			return "an earlier PersistentVolumeClaim of the same name; its newest snapshot is " + s.chosen.Name
		}
		if other.taken(at, Time(other.chosen, now), now) >= 2 {
			return "deleted or no longer selected; its newest snapshot is " + s.chosen.Name + ", of " + formatTime(at)
		}
	}
	return ""
}

// taken counts the snapshots of a series after one time, up to another.
func (s *series) taken(after, until, now time.Time) int {
	n := 0
	for _, v := range s.snapshots {
		if t := Time(v, now); t.After(after) && !t.After(until) {
			n++
		}
	}
	return n
}
