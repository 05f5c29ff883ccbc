// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

func expiry() Workload {
	return Workload{
		Name:    "expiry",
		What:    "snapshots have grown too old; the floor, a hold and finalizers are in the way",
		Deletes: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			return on(ctx, r).nightly(age, spec{Suspend: true, SnapshotTTL: "1d"}).
				claim("data-0", age,
					environment.Taken{Age: 72 * hour, Protected: true}, environment.Taken{Age: 48 * hour, Protected: true}, at(26*hour), at(hour)).
				claim("data-1", age,
					at(72*hour), at(48*hour), failed(26*hour), failed(25*hour)).
				claim("data-2", age,
					environment.Taken{Age: 72 * hour, Held: true}, at(48*hour), at(2*hour)).err
		},
		End: func(s environment.State) error {
			return errors.Join(
				left(s, "data-0", "data-0-old-3"),
				left(s, "data-1", "data-1-old-1"),
				left(s, "data-2", "data-2-old-0", "data-2-old-2"),
				isSettled(s, v1alpha1.ReasonSuspended))
		},
	}
}

func failed(age time.Duration) environment.Taken {
	return environment.Taken{Age: age, Unready: true, Error: "the driver could not upload it"}
}

func tooMany() Workload {
	return Workload{
		Name:    "cap",
		What:    "a PVC has more snapshots than maxCount and its tiers allow",
		Deletes: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			policy := v1alpha1.Retention{MaxCount: ptr.To[int32](3), MinReady: ptr.To[int32](2), Keep: v1alpha1.Keep{Last: 4}}
			return on(ctx, r).nightly(age, spec{Suspend: true, Retention: policy}).
				claim("data-0", age, at(60*hour), at(50*hour), at(40*hour), at(30*hour), at(20*hour), at(10*hour)).
				claim("data-1", age, at(40*hour), at(30*hour), at(20*hour)).err
		},
		End: func(s environment.State) error {
			return errors.Join(
				left(s, "data-0", "data-0-old-3", "data-0-old-4", "data-0-old-5"),
				left(s, "data-1", "data-1-old-0", "data-1-old-1", "data-1-old-2"),
				isSettled(s, v1alpha1.ReasonSuspended))
		},
	}
}

func replace() Workload {
	return Workload{
		Name:    "replace",
		What:    "snapshots that were never cut are replaced at the next slot",
		Deletes: true,
		Uncut:   true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			r.Driver.Protect()
			r.Driver.Break("data-0", "data-1")
			uncut := environment.Taken{Age: 2*hour + 30*minute, Uncut: true}
			protected := uncut
			protected.Protected = true
			return on(ctx, r).nightly(age, spec{}).
				claim("data-0", age, at(5*hour+30*minute), protected).
				claim("data-1", age, at(5*hour+30*minute), uncut).
				claim("data-2", age, current()).err
		},
		Steps: []Step{{
			What: "repair the driver",
			When: func(s environment.State) bool {
				return s.Snapshot("data-0-old-1") == nil && s.Snapshot("data-1-old-1") == nil &&
					len(s.Of("data-0")) == 2 && len(s.Of("data-1")) == 2
			},
			Do: func(_ context.Context, r *environment.Run) error {
				r.Driver.Break()
				return nil
			},
		}},
		End: has(v1alpha1.ReasonScheduled, map[string]int{"data-0": 2, "data-1": 2, "data-2": 1}),
	}
}

func hold() Workload {
	return Workload{
		Name:    "hold",
		What:    "a hold is taken off a snapshot that is too old",
		Deletes: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			return on(ctx, r).nightly(age, spec{Suspend: true, SnapshotTTL: "1d"}).
				claim("data-0", age, environment.Taken{Age: 72 * hour, Held: true}, at(hour)).err
		},
		Steps: []Step{{
			What: "take the hold off",
			When: settled(v1alpha1.ReasonSuspended),
			Do: func(ctx context.Context, r *environment.Run) error {
				return r.Patch(ctx, r.Called("data-0-old-0"),
					`{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationHold)
			},
		}},
		End: func(s environment.State) error {
			return errors.Join(left(s, "data-0", "data-0-old-1"), isSettled(s, v1alpha1.ReasonSuspended))
		},
	}
}

func edited() Workload {
	return Workload{
		Name:    "edit",
		What:    "the TTL is shortened, then lengthened",
		Deletes: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			return on(ctx, r).nightly(age, spec{SnapshotTTL: "30d"}).
				claim("data-0", age, at(7*hour), at(6*hour), current()).
				claim("data-1", age, at(7*hour), current()).err
		},
		Steps: []Step{{
			What: "shorten the TTL",
			When: settled(v1alpha1.ReasonScheduled),
			Do: func(ctx context.Context, r *environment.Run) error {
				return r.Patch(ctx, environment.Named(&v1alpha1.SnapshotSchedule{}, r.Namespace, nightly), `{"spec":{"snapshotTTL":"2h"}}`)
			},
		}, {
			What: "lengthen the TTL",
			When: func(s environment.State) bool {
				return len(s.Snapshots) == 2 && isSettled(s, v1alpha1.ReasonScheduled) == nil
			},
			Do: func(ctx context.Context, r *environment.Run) error {
				return r.Patch(ctx, environment.Named(&v1alpha1.SnapshotSchedule{}, r.Namespace, nightly), `{"spec":{"snapshotTTL":"60d"}}`)
			},
		}},
		End: func(s environment.State) error {
			return errors.Join(left(s, "data-0", "data-0-old-2"), left(s, "data-1", "data-1-old-1"),
				isSettled(s, v1alpha1.ReasonScheduled))
		},
	}
}

func invalid() Workload {
	return Workload{
		Name:    "invalid",
		What:    "a spec is invalid, and mended: a cron line that never fires",
		Deletes: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			return on(ctx, r).nightly(age, spec{Schedule: "0 0 30 2 *", SnapshotTTL: "1d"}).
				claim("data-0", age, at(72*hour), at(48*hour), current()).
				claim("data-1", age, at(5*hour+30*minute)).err
		},
		Steps: []Step{{
			What: "mend the spec",
			When: settled(v1alpha1.ReasonInvalidSpec),
			Do: func(ctx context.Context, r *environment.Run) error {
				return r.Patch(ctx, environment.Named(&v1alpha1.SnapshotSchedule{}, r.Namespace, nightly),
					`{"spec":{"schedule":null,"snapshotInterval":"1h"}}`)
			},
		}},
		End: has(v1alpha1.ReasonScheduled, map[string]int{"data-0": 1, "data-1": 2}),
	}
}
