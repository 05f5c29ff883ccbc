// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

func expiry() Workload {
	return Workload{
		Name:    "expiry",
		What:    "snapshots expire; the floor, a hold and finalizers keep some of them",
		Deletes: true,
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d"},
			claim("data-0", taken{Age: 72 * hour, Protected: true}, taken{Age: 48 * hour, Protected: true}, ready(26*hour), ready(hour)),
			claim("data-1", ready(72*hour), ready(48*hour), failed(26*hour), failed(25*hour)),
			claim("data-2", taken{Age: 72 * hour, Held: true}, ready(48*hour), ready(2*hour))),
		End: all(keeps("data-0", "data-0-old-3"), keeps("data-1", "data-1-old-1"), keeps("data-2", "data-2-old-0", "data-2-old-2"),
			settled(v1alpha1.ReasonSuspended)),
	}
}

func tooMany() Workload {
	return Workload{
		Name:    "cap",
		What:    "a PVC has more snapshots than maxCount and its tiers allow",
		Deletes: true,
		Prepare: given(
			spec{Suspend: true, Retention: v1alpha1.Retention{
				MaxCount: ptr.To[int32](3), MinReady: ptr.To[int32](2), Keep: v1alpha1.Keep{Last: 4},
			}},
			claim("data-0", ready(60*hour), ready(50*hour), ready(40*hour), ready(30*hour), ready(20*hour), ready(10*hour)),
			claim("data-1", ready(40*hour), ready(30*hour), ready(20*hour))),
		End: all(keeps("data-0", "data-0-old-3", "data-0-old-4", "data-0-old-5"),
			keeps("data-1", "data-1-old-0", "data-1-old-1", "data-1-old-2"), settled(v1alpha1.ReasonSuspended)),
	}
}

func replace() Workload {
	uncut := taken{Age: 2*hour + 30*minute, Uncut: true}
	protected := uncut
	protected.Protected = true
	return Workload{
		Name:    "replace",
		What:    "snapshots that were never cut are replaced at the next slot",
		Deletes: true,
		Uncut:   true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			r.Driver.Protect()
			r.Driver.Break("data-0", "data-1")
			return create(ctx, r, age, spec{},
				claim("data-0", ready(5*hour+30*minute), protected),
				claim("data-1", ready(5*hour+30*minute), uncut),
				claim("data-2", current()))
		},
		Steps: []Step{{
			What: "repair the driver",
			When: once(isDeleted("data-0-old-1", "data-1-old-1"), hasCount("data-0", 2), hasCount("data-1", 2)),
			Do: func(_ context.Context, r *environment.Run) error {
				r.Driver.Break()
				return nil
			},
		}},
		End: all(hasReady("data-0", 2), hasReady("data-1", 2), hasReady("data-2", 1), settled(v1alpha1.ReasonScheduled)),
	}
}

func legalHold() Workload {
	refused := []string{"data-0-old-0", "data-0-old-1"}
	return Workload{
		Name:             "legal-hold",
		What:             "deletes of some snapshots are refused for good; the others are deleted, and status reports it",
		Broken:           "data-0",
		Deletes:          true,
		DeletesPerSecond: 2, // at once as many as are refused
		Always: func(p plan.Point) plan.Action {
			if p.Verb == "delete" && slices.Contains(refused, p.Object) {
				return plan.Quota
			}
			return ""
		},
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d"},
			claim("data-0", ready(72*hour), ready(60*hour), ready(48*hour), ready(hour)),
			claim("data-1", ready(48*hour), ready(hour))),
		End: all(keeps("data-0", append(refused, "data-0-old-3")...), keeps("data-1", "data-1-old-1"),
			settled(v1alpha1.ReasonRetentionFailing)),
	}
}

func hold() Workload {
	return Workload{
		Name:    "hold",
		What:    "the hold of an expired snapshot is removed",
		Deletes: true,
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d"}, claim("data-0", taken{Age: 72 * hour, Held: true}, ready(hour))),
		Steps: []Step{patch("remove the hold", once(settled(v1alpha1.ReasonSuspended)), theSnapshot("data-0-old-0"),
			`{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationHold)},
		End: all(keeps("data-0", "data-0-old-1"), settled(v1alpha1.ReasonSuspended)),
	}
}

// lost: the last good snapshot is beyond its TTL. An error that passes must not cost it.
func lost() Workload {
	return Workload{
		Name:    "lost",
		What:    "the last good snapshot, which the floor keeps beyond its TTL, loses its readiness",
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d"}, claim("data-0", ready(72*hour)), claim("data-1", ready(hour))),
		Steps:   []Step{losesReadiness("data-0-old-0")},
		End:     all(keeps("data-0", "data-0-old-0"), hasReady("data-1", 1), counted(2, 1), settled(v1alpha1.ReasonSnapshotsFailing)),
	}
}

// lostTier: nor must it cost one that a tier keeps, although there is a newer one.
func lostTier() Workload {
	return Workload{
		Name: "lost-tier",
		What: "a snapshot that a tier keeps beyond its TTL loses its readiness",
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d", Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Daily: 30}}},
			claim("data-0", ready(72*hour), ready(hour))),
		Steps: []Step{losesReadiness("data-0-old-0")},
		End:   all(keeps("data-0", "data-0-old-0", "data-0-old-1"), counted(2, 1), settled(v1alpha1.ReasonSuspended)),
	}
}

func losesReadiness(snapshot string) Step {
	return Step{
		What: "report an error",
		When: once(settled(v1alpha1.ReasonSuspended)),
		Do: func(ctx context.Context, r *environment.Run) error {
			return r.PatchStatus(ctx, r.Called(snapshot), `{"status":{"readyToUse":false,"error":{"time":%q,"message":"the content is missing"}}}`,
				r.Now.UTC().Format(time.RFC3339))
		},
	}
}

func edited() Workload {
	twoLeft := func(s environment.State) bool {
		return len(s.Snapshots) == 2 && settled(v1alpha1.ReasonScheduled)(s) == nil
	}
	return Workload{
		Name:    "edit",
		What:    "the TTL is shortened, then lengthened",
		Deletes: true,
		Prepare: given(spec{SnapshotTTL: "30d"},
			claim("data-0", ready(7*hour), ready(6*hour), current()),
			claim("data-1", ready(7*hour), current())),
		Steps: []Step{
			patch("shorten the TTL", once(settled(v1alpha1.ReasonScheduled)), theSchedule, `{"spec":{"snapshotTTL":"2h"}}`),
			patch("lengthen the TTL", twoLeft, theSchedule, `{"spec":{"snapshotTTL":"60d"}}`),
		},
		End: all(keeps("data-0", "data-0-old-2"), keeps("data-1", "data-1-old-1"), settled(v1alpha1.ReasonScheduled)),
	}
}

func invalid() Workload {
	return Workload{
		Name:    "invalid",
		What:    "the spec is invalid, a cron line that never fires, and then fixed",
		Deletes: true,
		Prepare: given(spec{Schedule: "0 0 30 2 *", SnapshotTTL: "1d"},
			claim("data-0", ready(72*hour), ready(48*hour), current()),
			claim("data-1", ready(5*hour+30*minute))),
		Steps: []Step{patch("fix the spec", once(settled(v1alpha1.ReasonInvalidSpec)), theSchedule,
			`{"spec":{"schedule":null,"snapshotInterval":"1h"}}`)},
		End: all(hasReady("data-0", 1), hasReady("data-1", 2), settled(v1alpha1.ReasonScheduled)),
	}
}
