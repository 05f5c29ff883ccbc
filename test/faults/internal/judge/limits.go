// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/types"

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

// judgeLimits judges the create of a snapshot for a slot by what its driver and its PVC have already, of any schedule.
func (j *AtWrite) judgeLimits(st *State, v *snapshotv1.VolumeSnapshot, of slot, a Attempt) {
	ofDriver := func(is func(*snapshotv1.VolumeSnapshot) bool) func(*snapshotv1.VolumeSnapshot) bool {
		return func(other *snapshotv1.VolumeSnapshot) bool { return st.sameDriver(v, other) && is(other) }
	}
	known := j.knownTo(a, st)
	for _, c := range []struct {
		clause string
		limit  int
		counts func(*snapshotv1.VolumeSnapshot) bool
		why    string
	}{
		{"FLIGHT-1", j.Limits.InFlight, ofDriver(st.inFlight), "while %d of its driver were in flight, and the limit is %d"},
		{"LIMIT-2", j.Limits.Pending, ofDriver(isPending), "while %d of its driver were pending, and the limit is %d"},
		{"LIMIT-3", j.Limits.PerVolume, func(other *snapshotv1.VolumeSnapshot) bool { return j.samePVC(of, other) && st.sameVolume(of, other) },
			"while its PVC had %d, and it may have %d"},
	} {
		have := len(known) - len(slices.DeleteFunc(slices.Clone(known), c.counts))
		if c.limit > 0 && have >= c.limit {
			j.fail(c.clause, "VolumeSnapshot %s was created "+c.why, a.Name, have, c.limit)
		}
	}
	for _, other := range known {
		if age := time.Since(other.CreationTimestamp.Time); j.samePVC(of, other) && age < j.Limits.Spacing {
			j.fail("LIMIT-4", "VolumeSnapshot %s was created %s after %s of the same PVC, and they must be %s apart",
				a.Name, age.Round(time.Millisecond), other.Name, j.Limits.Spacing)
		}
	}
}

func (j *AtWrite) samePVC(of slot, v *snapshotv1.VolumeSnapshot) bool {
	taken, ok := j.slotOf(v)
	return ok && taken.mapKey == of.mapKey && !isImported(v)
}

// sameVolume returns whether a snapshot of a PVC is of the volume that the PVC has now.
func (st *State) sameVolume(of slot, v *snapshotv1.VolumeSnapshot) bool {
	claim := withUID(st.Claims, types.UID(of.mapKey))
	if claim == nil {
		return true
	}
	if volume, ok := v.Annotations["snapshots.mapcontroller.dev/volume"]; ok {
		return volume == claim.Spec.VolumeName
	}
	return !v.CreationTimestamp.Before(&claim.CreationTimestamp)
}

// unnamedVolume returns why a new snapshot does not name the volume of its PVC.
func (st *State) unnamedVolume(v *snapshotv1.VolumeSnapshot, of slot) string {
	claim := withUID(st.Claims, types.UID(of.mapKey))
	if claim == nil || v.Annotations["snapshots.mapcontroller.dev/volume"] == claim.Spec.VolumeName {
		return ""
	}
	return "without the annotation of its PVC's volume, " + claim.Spec.VolumeName
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

// isPending returns whether a snapshot is uncut, uploading, or being deleted without ever having been ready, and for how long: what its
// schedule says does not matter. One that is cut and in error may have failed.
func isPending(v *snapshotv1.VolumeSnapshot) bool {
	since, lasts := v.CreationTimestamp.Time, time.Hour
	switch {
	case readyToUse(v), isImported(v):
		return false
	case v.DeletionTimestamp != nil:
		since = v.DeletionTimestamp.Time
	case !isUncut(v) && inError(v):
		return false
	case !isUncut(v):
		lasts = 24 * time.Hour
	}
	return time.Since(since) < lasts
}

// inFlight returns whether a snapshot is uncut, and not for long.
func (st *State) inFlight(v *snapshotv1.VolumeSnapshot) bool {
	limit := time.Hour
	if s := withUID(st.Schedules, controllerOf(v)); s != nil {
		if spec, err := ReadSpec(&s.Spec); err == nil {
			limit = min(limit, max(spec.readyDeadline, time.Minute))
		}
	}
	return isUncut(v) && v.DeletionTimestamp == nil && time.Since(v.CreationTimestamp.Time) < limit
}
