// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"maps"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// Limits are what the storage can take; zero: no limit.
type Limits struct {
	// InFlight and Pending bound the snapshots of a driver that are uncut, and that are not ready; PerVolume those of a PVC.
	InFlight, Pending, PerVolume int
	// Spacing is the least time between two snapshots of a PVC.
	Spacing time.Duration
	// Drivers are those of the cluster's classes, by the name of the class.
	Drivers map[string]string
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
		return func(other *snapshotv1.VolumeSnapshot) bool { return j.sameDriver(st, v, other) && is(other) }
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

func (j *AtWrite) sameDriver(st *State, a, b *snapshotv1.VolumeSnapshot) bool {
	of, known := j.driverOf(st, a)
	other, made := j.driverOf(st, b)
	return known && made && of == other
}

// driverOf returns the driver of a schedule's snapshot for limits: that of its class or else of the PVC that is its source; not ok for one that
// somebody else made: its PVC does not exist, or the operator would have named it differently.
func (j *AtWrite) driverOf(st *State, v *snapshotv1.VolumeSnapshot) (driver string, ok bool) {
	at, ok := scheduledAt(v)
	for _, c := range st.Claims {
		if !ok || c.Namespace != v.Namespace || v.Name != builders.SnapshotName(controllerOf(v), c, at) {
			continue
		}
		return cmp.Or(j.classDriver(v), c.Annotations["volume.kubernetes.io/storage-provisioner"], j.guess(st, c)), true
	}
	return "", false
}

// classDriver returns the driver of the class of a snapshot, empty if it has none that exists.
func (j *AtWrite) classDriver(v *snapshotv1.VolumeSnapshot) string {
	return j.Limits.Drivers[ptr.Deref(v.Spec.VolumeSnapshotClassName, "")]
}

// guess returns the driver of a PVC that names none: that of the class of its newest snapshot that has one, else the only one of all classes,
// else none, and all such PVCs share a limit.
func (j *AtWrite) guess(st *State, c *corev1.PersistentVolumeClaim) string {
	var newest *snapshotv1.VolumeSnapshot
	for _, v := range st.Snapshots {
		isLater := newest == nil || newest.CreationTimestamp.Before(&v.CreationTimestamp)
		if v.Labels[v1alpha1.LabelMapKey] == string(c.UID) && j.classDriver(v) != "" && isLater {
			newest = v
		}
	}
	if newest != nil {
		return j.classDriver(newest)
	}
	all := slices.Compact(slices.Sorted(maps.Values(j.Limits.Drivers)))
	if len(all) == 1 {
		return all[0]
	}
	return ""
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
