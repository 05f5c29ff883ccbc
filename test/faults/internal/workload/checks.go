// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
)

// check returns what differs from an expectation; nil if nothing does.
type check = func(environment.State) error

func all(checks ...check) check {
	return func(s environment.State) error {
		var errs []error
		for _, c := range checks {
			errs = append(errs, c(s))
		}
		return errors.Join(errs...)
	}
}

// once reports whether the checks hold.
func once(checks ...check) func(environment.State) bool {
	return func(s environment.State) bool { return all(checks...)(s) == nil }
}

// settled expects that the status is up to date and Ready has a reason.
func settled(reason string) check {
	return isSettled(func(s environment.State) *v1alpha1.SnapshotSchedule { return s.Schedule(nightly) }, reason)
}

func isSettled(schedule func(environment.State) *v1alpha1.SnapshotSchedule, reason string) check {
	return func(s environment.State) error {
		o := schedule(s)
		switch {
		case o == nil:
			return errors.New("the schedule does not exist")
		case o.Status.ObservedGeneration != o.Generation:
			return errors.New("the status is of an older generation")
		case environment.Reason(o, v1alpha1.ConditionReady) != reason:
			return fmt.Errorf("condition Ready has reason %q, want %s", environment.Reason(o, v1alpha1.ConditionReady), reason)
		case reason == v1alpha1.ReasonInvalidSpec:
			return NoStatusErrors(s)
		}
		if paused := environment.Reason(o, v1alpha1.ConditionRetentionPaused); paused != v1alpha1.ReasonRetentionRunning {
			return fmt.Errorf("condition RetentionPaused has reason %q", paused)
		}
		return counts(s, o)
	}
}

// NoStatusErrors expects that no status contradicts its objects.
func NoStatusErrors(s environment.State) error {
	if wrong := judge.TakeEndState(s.Objects()).Wrong; len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// counts compares the counts in status to the snapshots.
func counts(s environment.State, o *v1alpha1.SnapshotSchedule) error {
	owned := s.Owned(o)
	ready := 0
	for _, v := range owned {
		if v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false) {
			ready++
		}
	}
	have := o.Status.Outputs.VolumeSnapshots
	if int(have.Total) != len(owned) || int(have.Ready) != ready {
		return fmt.Errorf("status counts %d snapshots, %d ready, want %d, %d ready", have.Total, have.Ready, len(owned), ready)
	}
	return nil
}

// counted expects these counts of snapshots in status.
func counted(total, ready int32) check {
	return func(s environment.State) error {
		if o := s.Schedule(nightly); o == nil || o.Status.Outputs.VolumeSnapshots != (v1alpha1.OutputCount{Total: total, Ready: ready}) {
			return fmt.Errorf("status does not count %d snapshots, %d ready", total, ready)
		}
		return nil
	}
}

// hasReady expects n snapshots of a PVC, all ready.
func hasReady(claim string, n int) check {
	return func(s environment.State) error {
		snapshots := s.Of(claim)
		for _, v := range snapshots {
			if !environment.Ready(v) {
				return fmt.Errorf("snapshot %s is not ready", v.Name)
			}
		}
		return count(claim, len(snapshots), n)
	}
}

// keeps expects exactly these snapshots of a PVC, by nickname.
func keeps(claim string, nicknames ...string) check {
	return func(s environment.State) error { return all(exist(nicknames...), hasCount(claim, len(nicknames)))(s) }
}

func exist(nicknames ...string) check {
	return func(s environment.State) error {
		for _, name := range nicknames {
			if s.Snapshot(name) == nil {
				return fmt.Errorf("snapshot %s is deleted", name)
			}
		}
		return nil
	}
}

func isDeleted(nicknames ...string) check {
	return func(s environment.State) error {
		for _, name := range nicknames {
			if s.Snapshot(name) != nil {
				return fmt.Errorf("snapshot %s exists", name)
			}
		}
		return nil
	}
}

func hasCount(claim string, n int) check {
	return func(s environment.State) error { return count(claim, len(s.Of(claim)), n) }
}

func count(claim string, got, want int) error {
	if got != want {
		return fmt.Errorf("PVC %s has %d snapshots, want %d", claim, got, want)
	}
	return nil
}

// detachedKeys expects a number of detached map keys in status.
func detachedKeys(n int32) check {
	return func(s environment.State) error {
		if o := s.Schedule(nightly); o == nil || o.Status.Detached == nil || o.Status.Detached.MapKeys != n {
			return fmt.Errorf("status does not count %d detached map keys", n)
		}
		return nil
	}
}

// owns expects that the schedule controls n snapshots.
func owns(n int) check {
	return func(s environment.State) error {
		if got := len(s.Owned(s.Schedule(nightly))); got != n {
			return fmt.Errorf("the schedule owns %d snapshots, want %d", got, n)
		}
		return nil
	}
}

// ownsAllBut expects that some snapshots have no controller, and that the schedule
// controls all others.
func ownsAllBut(nicknames ...string) check {
	return func(s environment.State) error {
		for _, name := range nicknames {
			if v := s.Snapshot(name); v == nil || metav1.GetControllerOf(v) != nil {
				return fmt.Errorf("snapshot %s does not exist without a controller", name)
			}
		}
		return owns(len(s.Snapshots) - len(nicknames))(s)
	}
}

// unowned expects n snapshots, none of them with an owner.
func unowned(n int) check {
	return func(s environment.State) error {
		owned := slices.ContainsFunc(s.Snapshots, func(v *snapshotv1.VolumeSnapshot) bool { return len(v.OwnerReferences) > 0 })
		if owned || len(s.Snapshots) != n {
			return fmt.Errorf("there are not exactly %d snapshots without owners", n)
		}
		return nil
	}
}

func noSchedule(s environment.State) error {
	if len(s.Schedules) > 0 {
		return errors.New("the schedule still exists")
	}
	return nil
}

// empty expects no schedules and no snapshots.
func empty(s environment.State) error { return errors.Join(noSchedule(s), unowned(0)(s)) }
