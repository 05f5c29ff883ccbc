// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

func first() Workload {
	return Workload{
		Name: "first",
		What: "three PVCs that have no snapshot yet",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			r.Driver.TwoSteps()
			return on(ctx, r).nightly(0, spec{}).claim("data-0", 0).claim("data-1", 0).claim("data-2", 0).err
		},
		End: func(s environment.State) error {
			for _, c := range s.Claims {
				want := environment.SnapshotName(s.Schedule(nightly).UID, c, c.CreationTimestamp.Time)
				if of := s.Of(c.Name); len(of) == 1 && of[0].Name != want {
					return fmt.Errorf("the snapshot of %s is called %s, not %s: names are made in another way now, "+
						"so environment.SnapshotName has to follow", c.Name, of[0].Name, want)
				}
			}
			return has(v1alpha1.ReasonScheduled, map[string]int{"data-0": 1, "data-1": 1, "data-2": 1})(s)
		},
	}
}

// untilTick is how long after its beginning a run comes to a slot.
const untilTick = 2500 * time.Millisecond

func ticking(ctx context.Context, r *environment.Run) error {
	r.Now = r.Now.Add(untilTick).Truncate(time.Second)
	return on(ctx, r).nightly(10*hour, spec{}).
		claim("data-0", 10*hour, at(hour)).claim("data-1", 10*hour, at(hour)).claim("data-2", 10*hour, at(hour)).err
}

func tick() Workload {
	return Workload{
		Name:    "tick",
		What:    "a slot falls due while the operator runs",
		Prepare: ticking,
		End:     has(v1alpha1.ReasonScheduled, map[string]int{"data-0": 2, "data-1": 2, "data-2": 2}),
	}
}

func restart() Workload {
	w := tick()
	w.Name = "restart"
	w.What = "the operator is upgraded while a slot falls due"
	w.Steps = []Step{{
		What: "upgrade",
		When: func(s environment.State) bool { return len(s.Snapshots) > 3 },
		Do: func(ctx context.Context, r *environment.Run) error {
			if err := r.StopOperator(ctx); err != nil {
				return err
			}
			return r.StartOperator(ctx)
		},
	}}
	return w
}

func missed() Workload {
	return Workload{
		Name: "missed",
		What: "the operator was away for several slots",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			old := at(5*hour + 30*minute)
			return on(ctx, r).nightly(age, spec{}).
				claim("data-0", age, old).claim("data-1", age, old).claim("data-2", age, current()).err
		},
		End: has(v1alpha1.ReasonScheduled, map[string]int{"data-0": 2, "data-1": 2, "data-2": 1}),
	}
}

func runNow() Workload {
	return Workload{
		Name: "run-now",
		What: "a suspended schedule is asked for a snapshot of all its PVCs, then of one",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			return on(ctx, r).nightly(age, spec{Suspend: true}).claim("data-0", age, current()).claim("data-1", age, current()).err
		},
		Steps: []Step{{
			What: "ask for all",
			When: settled(v1alpha1.ReasonSuspended),
			Do: func(ctx context.Context, r *environment.Run) error {
				return r.Patch(ctx, environment.Named(&v1alpha1.SnapshotSchedule{}, r.Namespace, nightly), "%s", request(r.Now.Add(-10*minute)))
			},
		}, {
			What: "ask for one",
			When: func(s environment.State) bool { return ready(s, "data-0", 2) == nil && ready(s, "data-1", 2) == nil },
			Do: func(ctx context.Context, r *environment.Run) error {
				return r.Patch(ctx, environment.Named(&corev1.PersistentVolumeClaim{}, r.Namespace, "data-1"), "%s", request(r.Now.Add(-5*minute)))
			},
		}},
		End: has(v1alpha1.ReasonSuspended, map[string]int{"data-0": 2, "data-1": 3}),
	}
}

func request(when time.Time) string {
	return `{"metadata":{"annotations":{"` + v1alpha1.AnnotationRequestedAt + `":"` + when.UTC().Format(time.RFC3339) + `"}}}`
}

func onePVCFails() Workload {
	return Workload{
		Name:    "one-fails",
		What:    "one PVC can't be snapshotted, ever; the others are, and retention goes on",
		Broken:  "bad",
		Deletes: true,
		Always: func(p plan.Point) plan.Deed {
			if p.Verb == "create" && p.Resource == "volumesnapshots" && strings.HasPrefix(p.Object, "bad+") {
				return plan.Quota
			}
			return ""
		},
		Prepare: func(ctx context.Context, r *environment.Run) error {
			return on(ctx, r).nightly(age, spec{SnapshotTTL: "1d"}).
				claim("bad", age, at(50*hour), at(20*hour)).
				claim("data-0", age, at(50*hour), at(5*hour)).
				claim("data-1", age, at(50*hour), at(5*hour)).err
		},
		End: func(s environment.State) error {
			if err := left(s, "bad", "bad-old-1"); err != nil {
				return err
			}
			return has(v1alpha1.ReasonSnapshotsFailing, map[string]int{"data-0": 2, "data-1": 2})(s)
		},
	}
}
