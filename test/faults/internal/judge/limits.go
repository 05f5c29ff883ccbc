// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// Limits are what the storage can take; zero: no limit.
type Limits struct {
	// InFlight and Pending bound the snapshots of a driver that are uncut, and that are not ready; PerVolume those of a PVC.
	InFlight, Pending, PerVolume int
	// Spacing is the least time between two snapshots of a PVC.
	Spacing time.Duration
}

// knownTo returns the snapshots that an operator must count. What another one created after it had started may be in none of its lists:
// a request of a process that has crashed is committed later.
func (j *AtWrite) knownTo(a Attempt, st *State) (known []*snapshotv1.VolumeSnapshot) {
	if !a.Sees {
		return nil
	}
	for _, v := range st.Snapshots {
		by, created := j.creators[v.Name]
		if !created || by.Equal(a.Started) || v.CreationTimestamp.Time.Before(a.Started.Truncate(time.Second)) {
			known = append(known, v)
		}
	}
	return known
}

// over returns how many of the snapshots count, if there is no place for another one.
func over(limit int, known []*snapshotv1.VolumeSnapshot, counts func(*snapshotv1.VolumeSnapshot) bool) (n int, is bool) {
	for _, v := range known {
		if counts(v) {
			n++
		}
	}
	return n, limit > 0 && n >= limit
}

// overInFlight returns how many snapshots of the driver are in flight, if they are too many.
func (j *AtWrite) overInFlight(st *State, v *snapshotv1.VolumeSnapshot, a Attempt) string {
	n, is := over(j.Limits.InFlight, j.knownTo(a, st), func(other *snapshotv1.VolumeSnapshot) bool {
		return st.sameDriver(v, other) && st.inFlight(other)
	})
	if !is {
		return ""
	}
	return fmt.Sprintf("while %d of its driver were in flight, and the limit is %d", n, j.Limits.InFlight)
}

// overPending returns how many snapshots of the driver are uncut or uploading, if they are too many.
func (j *AtWrite) overPending(st *State, v *snapshotv1.VolumeSnapshot, a Attempt) string {
	n, is := over(j.Limits.Pending, j.knownTo(a, st), func(other *snapshotv1.VolumeSnapshot) bool {
		return st.sameDriver(v, other) && !readyToUse(other) && !inError(other) && !isImported(other)
	})
	if !is {
		return ""
	}
	return fmt.Sprintf("while %d of its driver were pending, and the limit is %d", n, j.Limits.Pending)
}

// overPlaces returns how many snapshots of all schedules its PVC has, if it may have no more.
func (j *AtWrite) overPlaces(st *State, of slot, a Attempt) string {
	n, is := over(j.Limits.PerVolume, j.knownTo(a, st), func(other *snapshotv1.VolumeSnapshot) bool { return j.samePVC(of, other) })
	if !is {
		return ""
	}
	return fmt.Sprintf("while its PVC had %d, and it may have %d", n, j.Limits.PerVolume)
}

// tooSoon returns after which snapshot of its PVC, of any schedule, a snapshot comes too soon.
func (j *AtWrite) tooSoon(st *State, of slot, a Attempt) string {
	for _, other := range j.knownTo(a, st) {
		if age := time.Since(other.CreationTimestamp.Time); j.samePVC(of, other) && age < j.Limits.Spacing {
			return fmt.Sprintf("%s after %s of the same PVC, and they must be %s apart", age.Round(time.Millisecond), other.Name, j.Limits.Spacing)
		}
	}
	return ""
}

func (j *AtWrite) samePVC(of slot, v *snapshotv1.VolumeSnapshot) bool {
	taken, ok := j.slotOf(v)
	return ok && taken.mapKey == of.mapKey && !isImported(v)
}

func (st *State) sameDriver(a, b *snapshotv1.VolumeSnapshot) bool {
	of, known := st.driverOf(a)
	other, made := st.driverOf(b)
	return known && made && of == other
}

// driverOf returns the driver of the PVC that is the source of a schedule's snapshot, empty if it is unknown; not ok for one that somebody
// else made: its PVC does not exist, or the operator would have named it differently.
func (st *State) driverOf(v *snapshotv1.VolumeSnapshot) (driver string, ok bool) {
	at, ok := scheduledAt(v)
	for _, c := range st.Claims {
		if ok && c.Namespace == v.Namespace && v.Name == builders.SnapshotName(controllerOf(v), c, at) {
			return c.Annotations["volume.kubernetes.io/storage-provisioner"], true
		}
	}
	return "", false
}

// inFlight returns whether a snapshot counts.
func (st *State) inFlight(v *snapshotv1.VolumeSnapshot) bool {
	limit := time.Hour
	if s := withUID(st.Schedules, controllerOf(v)); s != nil {
		if spec, err := ReadSpec(&s.Spec); err == nil {
			limit = min(limit, max(spec.readyDeadline, time.Minute))
		}
	}
	return isUncut(v) && v.DeletionTimestamp == nil && time.Since(v.CreationTimestamp.Time) < limit
}
