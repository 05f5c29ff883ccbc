// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// Workloads in which what is scarce, workers and deletes, has to be shared, or is
// needed for a single PVC.

// unhold and request are what a user does while a neighbor does harm. Both must be
// served within seconds.
var (
	unhold = patch("remove the hold", once(settled(v1alpha1.ReasonScheduled)), theSnapshot("data-0-old-0"),
		`{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationHold)
	requestAll = request("request snapshots of all PVCs", once(settled(v1alpha1.ReasonScheduled)), theSchedule, 10*minute)
)

// beside is a tenant's namespace whose user does both. Clocks are left to others.
func beside(w Workload) Workload {
	w.Prepare = given(spec{SnapshotTTL: "1d"},
		claim("data-0", taken{Age: 72 * hour, Held: true}, current()), claim("data-1", current()))
	w.Steps = []Step{requestAll, unhold}
	w.End = all(isDeleted("data-0-old-0"), hasReady("data-0", 2), hasReady("data-1", 2), settled(v1alpha1.ReasonScheduled))
	return w
}

// hungNamespace has fewer workers than the neighbor has PVCs.
func hungNamespace() Workload {
	return beside(Workload{
		Name:    "hung-namespace",
		What:    "admission of a neighbor's snapshots hangs; the others are taken, and retention continues",
		Workers: 8,
		Always: func(p plan.Point) plan.Action {
			if p.Verb == "create" && p.Resource == "volumesnapshots" && strings.HasPrefix(p.Object, plan.OfNeighbor) {
				return plan.Hang
			}
			return ""
		},
		Neighbor: func(ctx context.Context, r *environment.Run) error {
			var claims []pvc
			for i := range 12 {
				claims = append(claims, claim(fmt.Sprint("data-", i)))
			}
			return create(ctx, r, 0, spec{}, claims...)
		},
	})
}

// hostileTenant: deletes of the neighbor's snapshots last for a minute.
func hostileTenant() Workload {
	return beside(Workload{
		Name:             "hostile-tenant",
		What:             "a neighbor has large selectors, many schedules and map keys of no PVC, whose snapshots expire; others are served in time",
		DeletesPerSecond: 1,
		Neighbor: func(ctx context.Context, r *environment.Run) error {
			for i := range 6 {
				if _, err := r.Claim(ctx, fmt.Sprint("many-", i), age, nil); err != nil {
					return err
				}
			}
			for i := range 4 {
				sp := spec{SnapshotInterval: "1h", Suspend: i > 0, Selector: largeSelector()}
				if _, err := r.Schedule(ctx, fmt.Sprint("many-", i), age, sp); err != nil {
					return err
				}
			}
			return expireOfNoPVC(ctx, r, nightly, 60, 1)
		},
	})
}

// largeSelector is as large as the CRD allows, and selects everything.
func largeSelector() v1alpha1.LabelSelector {
	var s v1alpha1.LabelSelector
	for i := range 16 {
		e := v1alpha1.LabelSelectorRequirement{Key: fmt.Sprintf("example.com/key-%d", i), Operator: metav1.LabelSelectorOpNotIn}
		for n := range 64 {
			e.Values = append(e.Values, v1alpha1.LabelValue(fmt.Sprintf("%s-%d", strings.Repeat("v", 58), n)))
		}
		s.MatchExpressions = append(s.MatchExpressions, e)
	}
	return s
}

// expireOfNoPVC stores a schedule, and expired snapshots of map keys that are no PVC's.
func expireOfNoPVC(ctx context.Context, r *environment.Run, name string, keys, each int) error {
	s, err := r.Schedule(ctx, name, age, spec{SnapshotInterval: "1h", SnapshotTTL: "1d"})
	if err != nil {
		return err
	}
	for i := range keys {
		c := builders.Existing(builders.Claim(r.Namespace, fmt.Sprintf("%s-none-%d", name, i), nil), uuid.NewUUID(), r.Now.Add(-age))
		for n := range each {
			t := ready(72*hour + time.Duration(n)*hour)
			t.Name = fmt.Sprintf("%s-old-%d", c.Name, n)
			if err := r.Snapshot(ctx, s, c, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// massExpiry: a neighbor deletes one in 40 seconds, so that a turn of another namespace
// would come later still.
func massExpiry() Workload {
	uncut := taken{Age: 2*hour + 30*minute, Uncut: true}
	return Workload{
		Name:             "mass-expiry",
		What:             "snapshots expire faster than they may be deleted; uncut ones that are in the way do not wait for them",
		Uncut:            true,
		DeletesPerSecond: 0.025,
		Neighbor: func(ctx context.Context, r *environment.Run) error {
			for i := range 8 {
				if err := expireOfNoPVC(ctx, r, fmt.Sprint("mass-", i), 2, 4); err != nil {
					return err
				}
			}
			return nil
		},
		Prepare: func(ctx context.Context, r *environment.Run) error {
			r.Driver.Break("data-0", "data-1")
			return create(ctx, r, age, spec{},
				claim("data-0", ready(5*hour+30*minute), taken{Age: 30 * minute, Uncut: true}),
				claim("data-1", ready(5*hour+30*minute), uncut))
		},
		Steps: []Step{remove("delete PVC data-0", once(isDeleted("data-1-old-1"), hasCount("data-1", 2)), theClaim("data-0"))},
		End: all(keeps("data-0", "data-0-old-0"), exist("data-1-old-0"), isDeleted("data-1-old-1"), hasCount("data-1", 2),
			detachedKeys(1), settled(v1alpha1.ReasonScheduled)),
	}
}

// largeFloor: one after the other, the reads of the floor would take longer than any of
// them may be old.
func largeFloor() Workload {
	const floor = 8
	snapshots := []taken{ready(90 * hour)}
	var kept []string
	for i := range floor {
		snapshots = append(snapshots, ready(time.Duration(80-i)*hour))
		kept = append(kept, fmt.Sprint("data-0-old-", i+1))
	}
	return Workload{
		Name:    "large-floor",
		What:    "the floor is large, and each live read of its snapshots takes a second",
		Deletes: true,
		Always: func(p plan.Point) plan.Action {
			if p.Verb == "get" && p.Resource == "volumesnapshots" {
				return plan.Delay
			}
			return ""
		},
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d", Retention: v1alpha1.Retention{MinReady: ptr.To[int32](floor)}},
			claim("data-0", snapshots...)),
		End: all(keeps("data-0", kept...), settled(v1alpha1.ReasonSuspended)),
	}
}

// inFlight: of the two snapshots that are uncut at the start and stay so, one is too old
// to count. One place is left, so the others are taken one after the other.
func inFlight() Workload {
	const due = 4
	var end []check
	for i := range due {
		end = append(end, hasReady(fmt.Sprint("data-", i), 2))
	}
	return Workload{
		Name:        "in-flight",
		What:        "more snapshots of a slow driver are due than may be in flight, and some are uncut already",
		Uncut:       true,
		MaxInFlight: 2,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			r.Driver.Break("old", "young")
			r.Driver.Slow(150 * time.Millisecond)
			if err := r.CreateClass(ctx); err != nil {
				return err
			}
			s, err := r.Schedule(ctx, nightly, age, spec{SnapshotInterval: "1d", ReadyDeadline: "3h"})
			if err != nil {
				return err
			}
			existing := map[string]taken{"old": {Age: 65 * minute, Slot: 30 * minute, Uncut: true}, "young": {Age: 20 * minute, Slot: 30 * minute, Uncut: true}}
			for i := range due {
				existing[fmt.Sprint("data-", i)] = ready(24*hour + 30*minute)
			}
			for _, name := range slices.Sorted(maps.Keys(existing)) {
				c, err := r.ClaimOfDriver(ctx, name, age, func(*corev1.PersistentVolumeClaim) {})
				if err != nil {
					return err
				}
				t := existing[name]
				t.Name = name + "-old-0"
				if err := r.Snapshot(ctx, s, c, t); err != nil {
					return err
				}
			}
			return nil
		},
		End: all(append(end, hasCount("old", 1), hasCount("young", 1), settled(v1alpha1.ReasonScheduled))...),
	}
}

// inFlightBrief: each snapshot is overdue before it is cut, and each create lasts as long as readyDeadline.
func inFlightBrief() Workload {
	last := ready(24*hour + 30*minute)
	return Workload{
		Name:        "in-flight-brief",
		What:        "readyDeadline is shorter than a create and than the cut of a snapshot; one snapshot may be in flight",
		MaxInFlight: 1,
		Always:      slowCreates,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			r.Driver.Slow(2 * time.Second)
			return create(ctx, r, age, spec{SnapshotInterval: "1d", ReadyDeadline: "1s"}, claim("data-0", last), claim("data-1", last))
		},
		End: all(hasReady("data-0", 2), hasReady("data-1", 2), settled(v1alpha1.ReasonScheduled)),
	}
}

// slowCreates makes each create of a snapshot last a second.
func slowCreates(p plan.Point) plan.Action {
	if p.Verb == "create" && p.Resource == "volumesnapshots" {
		return plan.Delay
	}
	return ""
}

// inFlightShared: a neighbor's snapshots hold all places and more wait, and as many that
// nobody but a user made carry our labels. One place is left to the others, which are
// taken one after the other.
func inFlightShared() Workload {
	const limit, due = 2, 3
	sp := spec{SnapshotInterval: "1d", ReadyDeadline: "3h"}
	last := ready(24*hour + 30*minute)
	var end []check
	for i := range due {
		end = append(end, hasReady(fmt.Sprint("data-", i), 2))
	}
	return Workload{
		Name:        "in-flight-shared",
		What:        "a neighbor's snapshots are never cut and hold all places, and users' own snapshots look like the operator's; the others are taken",
		Uncut:       true,
		Imports:     true,
		MaxInFlight: limit,
		Neighbor: func(ctx context.Context, r *environment.Run) error {
			var claims []pvc
			var broken []string
			for i := range 2 * limit {
				c := claim(fmt.Sprint("data-", i), last)
				if i < limit {
					c.snapshots = append(c.snapshots, taken{Age: 20 * minute, Slot: 30 * minute, Uncut: true})
				}
				claims, broken = append(claims, c), append(broken, c.name)
			}
			r.Driver.Break(broken...)
			return create(ctx, r, age, sp, claims...)
		},
		Prepare: func(ctx context.Context, r *environment.Run) error {
			r.Driver.Break("by-hand-0", "by-hand-1")
			r.Driver.Slow(150 * time.Millisecond)
			s, err := r.Schedule(ctx, nightly, age, sp)
			if err != nil {
				return err
			}
			for i := range limit {
				c, err := r.Claim(ctx, fmt.Sprint("by-hand-", i), age, nil)
				if err != nil {
					return err
				}
				v := builders.Snapshot(s, c, r.Now.Add(-30*minute))
				v.Name, v.Annotations = c.Name, nil // without a slot, whose name would keep it from being taken twice
				if err := r.Client.Create(ctx, v); err != nil {
					return err
				}
			}
			for i := range due {
				if err := createClaims(ctx, r, s, claim(fmt.Sprint("data-", i), last)); err != nil {
					return err
				}
			}
			return nil
		},
		End: all(append(end, hasCount("by-hand-0", 1), hasCount("by-hand-1", 1), settled(v1alpha1.ReasonScheduled))...),
	}
}
