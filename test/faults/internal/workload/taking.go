// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

func first() Workload {
	return Workload{
		Name: "first",
		What: "three PVCs have no snapshot yet",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			r.Driver.TwoSteps()
			return create(ctx, r, 0, spec{}, claim("data-0"), claim("data-1"), claim("data-2"))
		},
		End: all(hasReady("data-0", 1), hasReady("data-1", 1), hasReady("data-2", 1), settled(v1alpha1.ReasonScheduled), expectedNames),
	}
}

// expectedNames fails if the operator names snapshots in another way than
// builders.SnapshotName, on which every other workload depends.
func expectedNames(s environment.State) error {
	for _, c := range s.Claims {
		want := builders.SnapshotName(s.Schedule(nightly).UID, c, c.CreationTimestamp.Time)
		if of := s.Of(c.Name); len(of) == 1 && of[0].Name != want {
			return fmt.Errorf("the snapshot of %s is named %s, want %s: update builders.SnapshotName", c.Name, of[0].Name, want)
		}
	}
	return nil
}

// untilTick is the time from the start of a run to its slot.
const untilTick = 2500 * time.Millisecond

func tick() Workload {
	return Workload{
		Name: "tick",
		What: "a slot falls due while the operator runs",
		Prepare: func(ctx context.Context, r *environment.Run) error {
			r.Now = r.Now.Add(untilTick).Truncate(time.Second)
			return create(ctx, r, 10*hour, spec{}, claim("data-0", ready(hour)), claim("data-1", ready(hour)), claim("data-2", ready(hour)))
		},
		End: all(hasReady("data-0", 2), hasReady("data-1", 2), hasReady("data-2", 2), settled(v1alpha1.ReasonScheduled)),
	}
}

func restart() Workload {
	w := tick()
	w.Name = "restart"
	w.What = "the operator is upgraded while a slot falls due"
	w.Steps = []Step{{
		What:      "upgrade the operator",
		Operators: true,
		When:      func(s environment.State) bool { return len(s.Snapshots) > 3 },
		Do: func(ctx context.Context, r *environment.Run) error {
			if err := r.StopOperator(ctx); err != nil {
				return err
			}
			return r.StartOperator(ctx)
		},
	}}
	return w
}

// slowStart has so few workers that most keys wait for one, longer than a status waits for its keys.
func slowStart() Workload {
	var claims []pvc
	var end []check
	for i := range 4 {
		name := fmt.Sprint("data-", i)
		claims, end = append(claims, claim(name, ready(5*hour+30*minute))), append(end, hasReady(name, 2))
	}
	return Workload{
		Name:    "slow-start",
		What:    "each create takes a second; meanwhile the operator is stopped, and started again after an edit",
		Workers: 2,
		Always:  slowCreates,
		Prepare: given(spec{}, claims...),
		Steps:   []Step{restartEdited(func(s environment.State) bool { return len(s.Snapshots) > 5 })},
		End:     all(append(end, settled(v1alpha1.ReasonScheduled))...),
	}
}

// restartEdited edits the schedule while the operator is down, so that no status describes the present generation.
func restartEdited(when func(environment.State) bool) Step {
	return Step{What: "stop the operator, edit the schedule, and start it", When: when, Operators: true, Do: func(ctx context.Context, r *environment.Run) error {
		if err := r.StopOperator(ctx); err != nil {
			return err
		}
		if err := r.Patch(ctx, theSchedule(r), `{"spec":{"snapshotTTL":"30d"}}`); err != nil {
			return err
		}
		return r.StartOperator(ctx)
	}}
}

// kindsMissing: the operator looks for a missing kind again only after a minute, or when it starts.
func kindsMissing() Workload {
	old := ready(5*hour + 30*minute)
	ended := settled(v1alpha1.ReasonScheduled)
	return Workload{
		Name: "kinds-missing",
		What: "when the operator starts, VolumeSnapshots and their classes are not installed; when it starts again, after an edit, they are",
		Always: func(p plan.Point) plan.Action {
			if p.IsDiscovery() && p.Object == "/apis/snapshot.storage.k8s.io/v1" && p.Nth == 1 {
				return plan.Uninstalled
			}
			return ""
		},
		Prepare: given(spec{}, claim("data-0", old), claim("data-1", old)),
		Steps: []Step{restartEdited(func(s environment.State) bool {
			return environment.Reason(s.Schedule(nightly), v1alpha1.ConditionReady) == v1alpha1.ReasonSnapshotAPIMissing || ended(s) == nil
		})},
		End: all(hasReady("data-0", 2), hasReady("data-1", 2), ended),
	}
}

func missed() Workload {
	old := ready(5*hour + 30*minute)
	return Workload{
		Name:    "missed",
		What:    "the operator was down for several slots",
		Prepare: given(spec{}, claim("data-0", old), claim("data-1", old), claim("data-2", current())),
		End:     all(hasReady("data-0", 2), hasReady("data-1", 2), hasReady("data-2", 1), settled(v1alpha1.ReasonScheduled)),
	}
}

func runNow() Workload {
	return Workload{
		Name:    "run-now",
		What:    "snapshots are requested from a suspended schedule: of all its PVCs, then of one; a request on a PVC is ignored",
		Prepare: given(spec{Suspend: true}, claim("data-0", current()), claim("data-1", current())),
		Steps: []Step{
			request("request snapshots of all PVCs", once(settled(v1alpha1.ReasonSuspended)), theSchedule, 10*minute),
			request("annotate data-0 with a request", once(hasReady("data-0", 2), hasReady("data-1", 2)), theClaim("data-0"), 7*minute),
			request("request a snapshot of data-1", once(hasReady("data-1", 2)), theSchedule, 5*minute, "data-1"),
		},
		End: all(hasReady("data-0", 2), hasReady("data-1", 3), settled(v1alpha1.ReasonSuspended)),
	}
}

func onePVCFails() Workload {
	return Workload{
		Name:    "one-fails",
		What:    "every snapshot of one PVC is refused; the others are taken, and retention continues",
		Broken:  "bad",
		Deletes: true,
		Always: func(p plan.Point) plan.Action {
			if p.Verb == "create" && p.Resource == "volumesnapshots" && strings.HasPrefix(p.Object, "bad+") {
				return plan.Quota
			}
			return ""
		},
		Prepare: given(spec{SnapshotTTL: "1d"},
			claim("bad", ready(50*hour), ready(20*hour)),
			claim("data-0", ready(50*hour), ready(5*hour)),
			claim("data-1", ready(50*hour), ready(5*hour))),
		End: all(keeps("bad", "bad-old-1"), hasReady("data-0", 2), hasReady("data-1", 2), settled(v1alpha1.ReasonSnapshotsFailing)),
	}
}
