// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// Workloads in which a delay keeps what an edit would delete.

// delayedSpec keeps snapshots for 30 days, and what an edit would delete for a delay.
func delayedSpec(delay v1alpha1.Duration) spec {
	return spec{Suspend: true, SnapshotTTL: "30d", Retention: v1alpha1.Retention{EditDelay: delay}}
}

func twoExpiring(sp spec) func(context.Context, *environment.Run) error {
	return given(sp, claim("data-0", ready(72*hour), ready(48*hour), ready(hour)), claim("data-1", ready(72*hour), ready(hour)))
}

// recordedLongAgo prepares a schedule whose first generation has a record with a delay of an hour that is long past.
func recordedLongAgo(prepare func(context.Context, *environment.Run) error) func(context.Context, *environment.Run) error {
	return func(ctx context.Context, r *environment.Run) error {
		if err := prepare(ctx, r); err != nil {
			return err
		}
		return r.PatchStatus(ctx, theSchedule(r), `{"status":{"retention":{"generation":1,"sinceTime":%q,"editDelay":"1h"}}}`,
			r.Now.Add(-age).UTC().Format(time.RFC3339))
	}
}

var keepsTwoExpiring = all(keeps("data-0", "data-0-old-0", "data-0-old-1", "data-0-old-2"), keeps("data-1", "data-1-old-0", "data-1-old-1"))

func editDelayed() Workload {
	return Workload{
		Name:    "edit-delay",
		What:    "an edit shortens the TTL and removes the delay; what it would delete is kept until the delay has passed",
		Deletes: true,
		Prepare: twoExpiring(delayedSpec("10s")),
		Steps: []Step{patch("shorten the TTL, remove the delay", once(settled(v1alpha1.ReasonSuspended), recorded(1)), theSchedule,
			`{"spec":{"snapshotTTL":"1d","retention":{"editDelay":null}}}`)},
		End: all(keeps("data-0", "data-0-old-2"), keeps("data-1", "data-1-old-1"), settled(v1alpha1.ReasonSuspended)),
	}
}

func editTakenBack() Workload {
	return Workload{
		Name:    "edit-taken-back",
		What:    "a bad merge sets a TTL of a second and drops retention as a whole; it is noticed, and taken back",
		Prepare: recordedLongAgo(twoExpiring(delayedSpec("1h"))),
		Steps: []Step{
			patch("merge badly", once(settled(v1alpha1.ReasonSuspended), recorded(1)), theSchedule, `{"spec":{"snapshotTTL":"1s","retention":null}}`),
			patch("take it back", once(pausedFor(v1alpha1.ReasonSpecChanged), recorded(2)), theSchedule,
				`{"spec":{"snapshotTTL":"30d","retention":{"editDelay":"1h"}}}`),
		},
		End: all(keepsTwoExpiring, recorded(3), settled(v1alpha1.ReasonSuspended)),
	}
}

func editConfirmed() Workload {
	return Workload{
		Name:    "edit-confirmed",
		What:    "an edit shortens the TTL, while the generation before it is confirmed; then it is confirmed itself",
		Deletes: true,
		Prepare: twoExpiring(delayedSpec("1h")),
		Steps: []Step{
			patch("confirm the first generation", once(settled(v1alpha1.ReasonSuspended), recorded(1)), theSchedule,
				`{"metadata":{"annotations":{%q:"1"}}}`, v1alpha1.AnnotationConfirmGeneration),
			patch("shorten the TTL", once(), theSchedule, `{"spec":{"snapshotTTL":"1d"}}`),
			patch("confirm that", once(pausedFor(v1alpha1.ReasonSpecChanged), recorded(2), keepsTwoExpiring), theSchedule,
				`{"metadata":{"annotations":{%q:"2"}}}`, v1alpha1.AnnotationConfirmGeneration),
		},
		End: all(keeps("data-0", "data-0-old-2"), keeps("data-1", "data-1-old-1"), recorded(2), settled(v1alpha1.ReasonSuspended)),
	}
}

// recordWiped: the record of an edit that is long past is lost, and then a hold is removed.
func recordWiped() Workload {
	sp := delayedSpec("1h")
	sp.SnapshotTTL = "1d"
	return Workload{
		Name:    "record-wiped",
		What:    "the status with the record of an old edit is wiped, so that the delay starts anew; then the hold of an expired snapshot is removed",
		Prepare: recordedLongAgo(given(sp, claim("data-0", taken{Age: 72 * hour, Held: true}, ready(hour)))),
		Steps: []Step{
			{
				What: "wipe the status",
				When: once(settled(v1alpha1.ReasonSuspended), recorded(1)),
				Do: func(ctx context.Context, r *environment.Run) error {
					return r.PatchStatus(ctx, theSchedule(r), `{"status":null}`)
				},
			},
			patch("remove the hold", once(settled(v1alpha1.ReasonSuspended), recordedAnew), theSnapshot("data-0-old-0"),
				`{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationHold),
		},
		End: all(keeps("data-0", "data-0-old-0", "data-0-old-1"), pausedFor(v1alpha1.ReasonSpecChanged)),
	}
}

func nameReused() Workload {
	return Workload{
		Name: "name-reused",
		What: "a schedule of a few minutes adopts the snapshots of an earlier one of its name, and deletes none in its first hour",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			orphan := func(age time.Duration) taken { return taken{Age: age, Orphan: true} }
			return create(ctx, r, 10*minute, spec{Suspend: true, SnapshotTTL: "1m"},
				claim("data-0", orphan(72*hour), orphan(48*hour), ready(8*minute), ready(minute)), claim("data-1", orphan(72*hour), orphan(hour)))
		},
		Deletes: true,
		End: all(keeps("data-0", "data-0-old-0", "data-0-old-1", "data-0-old-3"), keeps("data-1", "data-1-old-0", "data-1-old-1"), owns(5),
			pausedFor(v1alpha1.ReasonSnapshotsAdopted)),
	}
}

// pausedFor expects that retention is paused for a reason.
func pausedFor(reason string) check {
	return func(s environment.State) error {
		o := s.Schedule(nightly)
		if o == nil || o.Status.ObservedGeneration != o.Generation {
			return fmt.Errorf("the status is not up to date")
		}
		if paused := environment.Reason(o, v1alpha1.ConditionRetentionPaused); paused != reason {
			return fmt.Errorf("condition RetentionPaused has reason %q, want %s", paused, reason)
		}
		return nil
	}
}

// recorded expects the record of a generation.
func recorded(generation int64) check {
	return func(s environment.State) error {
		if o := s.Schedule(nightly); o == nil || o.Status.Retention == nil || o.Status.Retention.Generation != generation {
			return fmt.Errorf("status.retention has no record of generation %d", generation)
		}
		return nil
	}
}

// recordedAnew expects a record that is younger than the schedule by far.
func recordedAnew(s environment.State) error {
	o := s.Schedule(nightly)
	if err := recorded(1)(s); err != nil {
		return err
	}
	if o.Status.Retention.SinceTime.Sub(o.CreationTimestamp.Time) < age-hour {
		return fmt.Errorf("the record is of %s", o.Status.Retention.SinceTime)
	}
	return nil
}
