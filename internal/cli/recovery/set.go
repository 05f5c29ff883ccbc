// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
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

// series are the snapshots of one PVC under one map key.
type series struct {
	key, source string
	claim       *corev1.PersistentVolumeClaim // nil if it is gone, or no longer selected
	// labeledAs is the PVC whose map key snapshots of another one carry.
	labeledAs string
	snapshots []*snapshotv1.VolumeSnapshot
	chosen    *snapshotv1.VolumeSnapshot
}

func (s *series) name() string {
	return cmp.Or(s.source, s.key)
}

// SetAt returns the set of a schedule at a time. snapshots are those with the
// schedule's label, claims the PVCs that it selects now.
func SetAt(snapshots []snapshotv1.VolumeSnapshot, claims []*corev1.PersistentVolumeClaim, asOf, now time.Time) Set {
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

// seriesOf groups snapshots by their map keys and PVCs, ordered by the names of the PVCs.
func seriesOf(snapshots []snapshotv1.VolumeSnapshot, claims []*corev1.PersistentVolumeClaim) []*series {
	type id struct{ key, source string }
	byID, sources := map[id]*series{}, map[string][]string{}
	of := func(key, source string) *series {
		s := byID[id{key, source}]
		if s == nil {
			s = &series{key: key, source: source}
			if first := sources[key]; len(first) > 0 && byID[id{key, first[0]}].claim != nil {
				s.labeledAs = first[0]
			}
			byID[id{key, source}], sources[key] = s, append(sources[key], source)
		}
		return s
	}
	for _, claim := range claims {
		of(string(claim.UID), claim.Name).claim = claim
	}
	var imported []*snapshotv1.VolumeSnapshot
	for i := range snapshots {
		v := &snapshots[i]
		switch key := v.Labels[v1alpha1.LabelMapKey]; {
		case key == "": // it was released
		case backup.Imported(v):
			imported = append(imported, v)
		default:
			s := of(key, backup.ClaimName(v))
			s.snapshots = append(s.snapshots, v)
		}
	}
	for _, v := range imported {
		// Of several PVCs, the one that has the map key is the first.
		key, source := v.Labels[v1alpha1.LabelMapKey], ""
		if all := sources[key]; len(all) == 1 || len(all) > 1 && byID[id{key, all[0]}].claim != nil {
			source = all[0]
		}
		s := of(key, source)
		s.snapshots = append(s.snapshots, v)
	}
	return slices.SortedFunc(maps.Values(byID), func(a, b *series) int {
		return cmp.Or(cmp.Compare(a.name(), b.name()), cmp.Compare(a.key, b.key))
	})
}

// missing returns why a series without a snapshot of the time should have had one;
// empty if it did not exist then, or had no data.
func missing(s *series, asOf, now time.Time) string {
	started := s.claim != nil && s.claim.Status.Phase != corev1.ClaimPending && !s.claim.CreationTimestamp.After(asOf)
	unready := 0
	if s.labeledAs != "" {
		return ""
	}
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
	if s.claim != nil || s.chosen == nil {
		return ""
	}
	if s.labeledAs != "" {
		return s.chosen.Name + " was taken of it, and is labeled as one of " + s.labeledAs
	}
	at, earlier := Time(s.chosen, now), "an earlier PersistentVolumeClaim of the same name; its newest snapshot is "+s.chosen.Name
	if slices.ContainsFunc(all, func(other *series) bool { return other.claim != nil && other.chosen != nil && other.name() == s.name() }) {
		return earlier
	}
	if s.taken(asOf, now, now) > 0 {
		return ""
	}
	for _, other := range all {
		if other == s || other.chosen == nil {
			continue
		}
		if other.name() == s.name() && Time(other.chosen, now).After(at) {
			return earlier
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

// Time returns the time whose data a snapshot holds. It errs on the late
// side, so that the snapshot of a time holds no later data: the driver may cut a
// snapshot long after it was requested, and the driver's clock may be wrong.
func Time(v *snapshotv1.VolumeSnapshot, now time.Time) time.Time {
	at := v.CreationTimestamp.Time
	if backup.Imported(v) {
		// The object is younger than its data.
		if slot := backup.SlotOf(v); !slot.IsZero() && slot.Before(at) {
			at = slot
		}
	}
	if cut := backup.Of(v).CutTime; cut.After(at) && !cut.After(now) {
		at = cut
	}
	return at
}

// Newest returns the newest ready snapshot at or before a time, or nil.
func Newest(snapshots []*snapshotv1.VolumeSnapshot, asOf, now time.Time) *snapshotv1.VolumeSnapshot {
	var newest *snapshotv1.VolumeSnapshot
	for _, v := range snapshots {
		if !backup.Ready(v) || Time(v, now).After(asOf) {
			continue
		}
		if newest == nil || cmp.Or(Time(v, now).Compare(Time(newest, now)), cmp.Compare(v.Name, newest.Name)) > 0 {
			newest = v
		}
	}
	return newest
}

// Choose returns the snapshot of a PVC to restore, or why there is none.
func Choose(snapshots []*snapshotv1.VolumeSnapshot, name string, asOf, now time.Time) (*snapshotv1.VolumeSnapshot, error) {
	if v := Newest(snapshots, asOf, now); v != nil {
		return v, nil
	}
	var first *snapshotv1.VolumeSnapshot
	for _, v := range snapshots {
		if backup.Ready(v) && (first == nil || Time(v, now).Before(Time(first, now))) {
			first = v
		}
	}
	switch {
	case first != nil:
		return nil, fmt.Errorf("PersistentVolumeClaim %s has no ready snapshot at or before %s: the oldest ready one is %s, of %s",
			name, formatTime(asOf), first.Name, formatTime(Time(first, now)))
	case len(snapshots) > 0:
		return nil, fmt.Errorf("PersistentVolumeClaim %s has no ready snapshot: it has %d that are not ready", name, len(snapshots))
	}
	return nil, fmt.Errorf("PersistentVolumeClaim %s has no snapshot", name)
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Whose data a snapshot holds is what its source says. Labels can be edited, so a map key
// decides only about an imported snapshot, whose source names no PVC.

// OfClaim returns the snapshots of all PVCs, past and present, with a name. Those of a
// PVC that was deleted and created again are included, whoever took them. Imported ones
// are included if their map key is one of the PVCs'. What a rollback has replaced is left out.
// claim is the PVC that has the name now, or nil.
func OfClaim(all []snapshotv1.VolumeSnapshot, name string, claim *corev1.PersistentVolumeClaim) []*snapshotv1.VolumeSnapshot {
	// A map key that snapshots of another PVC have, too, is not known to be this PVC's.
	keys := map[string]bool{}
	for i := range all {
		if key, of := all[i].Labels[v1alpha1.LabelMapKey], backup.ClaimName(&all[i]); of != "" {
			before, known := keys[key]
			keys[key] = of == name && (before || !known)
		}
	}
	if claim != nil {
		keys[string(claim.UID)] = true
	}
	delete(keys, "")
	var found []*snapshotv1.VolumeSnapshot
	for i := range all {
		if v := &all[i]; !OfRollback(v) && backup.ClaimName(v) == name || backup.Imported(v) && keys[v.Labels[v1alpha1.LabelMapKey]] {
			found = append(found, v)
		}
	}
	return found
}

// OfRollback returns whether a snapshot was taken by a rollback, of the data that it replaced. Nobody who asks for the
// newest snapshot of a PVC means that one.
func OfRollback(v *snapshotv1.VolumeSnapshot) bool {
	return v.Labels[v1alpha1.LabelRollback] != "" && v.Labels[v1alpha1.LabelMapKey] == ""
}

// SourceClaim returns the PVC that a snapshot was taken of, or nil if it is gone. A PVC
// of its name that is younger than the snapshot is another one.
func SourceClaim(v *snapshotv1.VolumeSnapshot, claims []corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	key, name := v.Labels[v1alpha1.LabelMapKey], backup.ClaimName(v)
	for i := range claims {
		claim := &claims[i]
		hasKey := string(claim.UID) == key
		if name == "" && hasKey || name == claim.Name && (hasKey || !claim.CreationTimestamp.After(v.CreationTimestamp.Time)) {
			return claim
		}
	}
	return nil
}
