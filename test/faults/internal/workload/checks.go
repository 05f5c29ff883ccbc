// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
)

// The most frequent reasons of condition Ready.
const (
	scheduled = v1alpha1.ReasonScheduled
	suspended = v1alpha1.ReasonSuspended
)

// check returns what differs from an expectation; nil if nothing does.
type check = func(state) error

func all(checks ...check) check {
	return func(s state) error {
		var errs []error
		for _, c := range checks {
			errs = append(errs, c(s))
		}
		return errors.Join(errs...)
	}
}

// expect is a check with an error that says what is wrong.
func expect(holds func(state) bool, wrong string, args ...any) check {
	return func(s state) error {
		if holds(s) {
			return nil
		}
		return fmt.Errorf(wrong, args...)
	}
}

// ours returns the schedule of the workload: nightly, or the child of the ClusterSnapshotSchedule, which has the name of its namespace.
func ours(s state) *v1alpha1.SnapshotSchedule {
	i := slices.IndexFunc(s.Schedules, func(o *v1alpha1.SnapshotSchedule) bool { return o.Name == nightly || o.Name == o.Namespace })
	if i < 0 {
		return nil
	}
	return s.Schedules[i]
}

// expectSchedule expects something of the schedule, if it exists.
func expectSchedule(holds func(*v1alpha1.SnapshotSchedule) bool, wrong string, args ...any) check {
	return expect(func(s state) bool { return ours(s) != nil && holds(ours(s)) }, wrong, args...)
}

// expectStatus expects that the status of the schedule is up to date, and something of it.
func expectStatus(holds func(v1alpha1.SnapshotScheduleStatus) bool, wrong string, args ...any) check {
	return expectSchedule(func(o *v1alpha1.SnapshotSchedule) bool {
		return o.Status.ObservedGeneration == o.Generation && holds(o.Status)
	}, wrong, args...)
}

// settled expects that the status is right and Ready has a reason.
func settled(reason string) check {
	retention := v1alpha1.ReasonRetentionRunning
	if reason == v1alpha1.ReasonInvalidSpec {
		retention = reason
	}
	return all(hasReason(v1alpha1.ConditionReady, reason), pausedFor(retention), noStatusErrors)
}

// pausedFor expects that retention is paused for a reason.
func pausedFor(reason string) check { return hasReason(v1alpha1.ConditionRetentionPaused, reason) }

func hasReason(condition, reason string) check {
	return func(s state) error {
		o := ours(s)
		if has := reasonOf(o, condition); has != reason {
			return fmt.Errorf("condition %s has reason %q, want %s", condition, has, reason)
		}
		if o.Status.ObservedGeneration != o.Generation {
			return errors.New("the status is of an older generation")
		}
		return nil
	}
}

// noStatusErrors expects that no status contradicts its objects.
func noStatusErrors(s state) error {
	if wrong := judge.TakeEndState(s, time.Now()).Wrong; len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// detachedKeys expects a number of detached map keys in status.
func detachedKeys(n int32) check {
	return expectStatus(func(status v1alpha1.SnapshotScheduleStatus) bool {
		return status.Detached != nil && status.Detached.MapKeys == n
	}, "status does not count %d detached map keys", n)
}

// recorded expects the record of a generation.
func recorded(generation int64) check {
	return expectStatus(func(status v1alpha1.SnapshotScheduleStatus) bool {
		return status.Retention != nil && status.Retention.Generation == generation
	}, "status.retention has no record of generation %d", generation)
}

// problem expects a problem of a PVC in status.
func problem(claim, reason string) check {
	return expectStatus(func(status v1alpha1.SnapshotScheduleStatus) bool {
		return slices.ContainsFunc(status.Problems, func(p v1alpha1.Problem) bool {
			return p.PersistentVolumeClaim == claim && p.Reason == reason
		})
	}, "status does not have problem %s of PVC %s", reason, claim)
}

// hasReady expects n snapshots of each of some PVCs, all ready.
func hasReady(n int, claims ...string) check {
	var each []check
	for _, claim := range claims {
		each = append(each, hasCount(claim, n), expect(func(s state) bool {
			return !slices.ContainsFunc(snapshotsOf(s, claim), func(v *snapshotv1.VolumeSnapshot) bool { return !judge.IsReady(v) })
		}, "not all snapshots of PVC %s are ready", claim))
	}
	return all(each...)
}

func hasCount(claim string, n int) check {
	return func(s state) error {
		if got := len(snapshotsOf(s, claim)); got != n {
			return fmt.Errorf("PVC %s has %d snapshots, want %d", claim, got, n)
		}
		return nil
	}
}

// keeps expects that of a PVC exactly these snapshots exist, of those before the run, counted from 0.
func keeps(claim string, numbers ...int) check {
	var names []string
	for _, n := range numbers {
		names = append(names, old(claim, n))
	}
	return all(exist(names...), hasCount(claim, len(names)))
}

func exist(nicknames ...string) check {
	return each(nicknames, "snapshot %s is deleted", func(v *snapshotv1.VolumeSnapshot) bool { return v != nil })
}

func isDeleted(nicknames ...string) check {
	return each(nicknames, "snapshot %s exists", func(v *snapshotv1.VolumeSnapshot) bool { return v == nil })
}

// each expects something of some snapshots that existed before the run.
func each(nicknames []string, wrong string, holds func(*snapshotv1.VolumeSnapshot) bool) check {
	var checks []check
	for _, name := range nicknames {
		checks = append(checks, expect(func(s state) bool {
			i := slices.IndexFunc(s.Snapshots, func(v *snapshotv1.VolumeSnapshot) bool { return v.Annotations[environment.Nickname] == name })
			if i < 0 {
				return holds(nil)
			}
			return holds(s.Snapshots[i])
		}, wrong, name))
	}
	return all(checks...)
}

// owns expects that the schedule controls n snapshots.
func owns(n int) check {
	return expect(func(s state) bool {
		o := ours(s)
		others := slices.DeleteFunc(slices.Clone(s.Snapshots), func(v *snapshotv1.VolumeSnapshot) bool {
			return o != nil && metav1.IsControlledBy(v, o)
		})
		return o != nil && len(s.Snapshots)-len(others) == n
	}, "the schedule does not own %d snapshots", n)
}

// snapshotsOf returns the snapshots of a PVC.
func snapshotsOf(s state, claim string) []*snapshotv1.VolumeSnapshot {
	return slices.DeleteFunc(slices.Clone(s.Snapshots), func(v *snapshotv1.VolumeSnapshot) bool {
		return ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "") != claim
	})
}

// reasonOf returns the reason of a schedule's condition; empty without it.
func reasonOf(s *v1alpha1.SnapshotSchedule, condition string) string {
	if s == nil {
		return ""
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, condition); c != nil {
		return c.Reason
	}
	return ""
}

// ownsAllBut expects that some snapshots have no controller, and that the schedule controls all others.
func ownsAllBut(nicknames ...string) check {
	return all(
		each(nicknames, "snapshot %s does not exist without a controller", func(v *snapshotv1.VolumeSnapshot) bool {
			return v != nil && metav1.GetControllerOf(v) == nil
		}),
		func(s state) error { return owns(len(s.Snapshots) - len(nicknames))(s) },
	)
}

// unowned expects n snapshots, none of them with an owner.
func unowned(n int) check {
	return expect(func(s state) bool {
		owned := func(v *snapshotv1.VolumeSnapshot) bool { return len(v.OwnerReferences) > 0 }
		return len(s.Snapshots) == n && !slices.ContainsFunc(s.Snapshots, owned)
	}, "there are not exactly %d snapshots without owners", n)
}

// atLeast expects n snapshots or more.
func atLeast(n int) check {
	return expect(func(s state) bool { return len(s.Snapshots) >= n }, "there are fewer than %d snapshots", n)
}

var noSchedule = expect(func(s state) bool { return len(s.Schedules) == 0 }, "the schedule still exists")

// empty expects no schedules and no snapshots.
var empty = all(noSchedule, unowned(0))
