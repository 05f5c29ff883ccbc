// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// sharing are the workloads in which what is scarce, workers, deletes and snapshots in flight, has to be shared, or is needed for a single
// PVC.
var sharing = []Workload{
	beside(Workload{
		Name: "hung-namespace", What: "admission of a neighbor's snapshots hangs; the others are taken, and retention continues",
		Workers:  8, // fewer than the neighbor has PVCs
		Always:   always(plan.Hang, func(p plan.Point) bool { return isCreate(p) && strings.HasPrefix(p.Object, plan.OfNeighbor) }),
		Neighbor: givenSince(0, spec{}, alike(12)...),
	}),
	beside(Workload{
		Name:             "hostile-tenant",
		What:             "a neighbor has large selectors, many schedules and expiring snapshots of no PVC; others are served in time",
		DeletesPerSecond: 1, // the neighbor's last for a minute
		Neighbor:         inOrder(manySchedules, expireOfNoPVC(nightly, 60, 1)),
	}),
	{
		Name: "mass-expiry", What: "snapshots expire faster than they may be deleted; uncut ones that are in the way do not wait for them",
		// A neighbor deletes one in 40 seconds, so that a turn of another namespace would come later still.
		DeletesPerSecond: 0.025,
		Neighbor: func(ctx context.Context, r *environment.Run) error {
			for i := range 8 {
				if err := expireOfNoPVC(fmt.Sprint("mass-", i), 2, 4)(ctx, r); err != nil {
					return err
				}
			}
			return nil
		},
		Prepare: inOrder(behaves(environment.Behavior{Broken: []string{"data-0", "data-1"}}), given(spec{},
			claim("data-0", ready(missed), snapshot(30*minute, uncut)),
			claim("data-1", ready(missed), snapshot(2*hour+30*minute, uncut)))),
		Steps: []Step{when(all(isDeleted("data-1-old-1"), hasCount("data-1", 2)), "delete the PVC", remove(theClaim("data-0")))},
		End:   all(keeps("data-0", 0), exist("data-1-old-0"), isDeleted("data-1-old-1"), hasCount("data-1", 2), settled(scheduled)),
	},
	{
		// One after the other, the reads of the floor would take longer than any of them may be old.
		Name: "large-floor", What: "the floor is large, and each live read of its snapshots takes a second",
		Always: always(plan.Delay, func(p plan.Point) bool { return p.Verb == "get" && p.Resource == "volumesnapshots" }),
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d", Retention: v1alpha1.Retention{MinReady: ptr.To[int32](8)}},
			series("data-0", 90, 80, 79, 78, 77, 76, 75, 74, 73)),
		End: all(keeps("data-0", 1, 2, 3, 4, 5, 6, 7, 8), settled(suspended)),
	},
	{
		// Of the two snapshots that are uncut at the start and stay so, one is too old to count. One place is left, so the others are taken
		// one after the other.
		Name: "in-flight", What: "more snapshots of a slow driver are due than may be in flight, and some are uncut already",
		Limits: judge.Limits{InFlight: 2},
		Prepare: inOrder(createClass(nil), behaves(environment.Behavior{Broken: []string{"old", "young"}, Each: 150 * time.Millisecond}),
			given(daily, ofDriver(append(alike(4, yesterday),
				claim("old", taken{Age: 65 * minute, Slot: 30 * minute, Changes: changes{uncut}}), claim("young", uncutNow))...)...)),
		End: all(hasReady(2, "data-0", "data-1", "data-2", "data-3"), hasCount("old", 1), hasCount("young", 1), settled(scheduled)),
	},
	{
		// Each snapshot is overdue before it is cut, and each create lasts as long as readyDeadline.
		Name: "in-flight-brief", What: "readyDeadline is shorter than a create and than the cut of a snapshot; one snapshot may be in flight",
		Limits: judge.Limits{InFlight: 1}, Always: slowCreates,
		Prepare: inOrder(behaves(environment.Behavior{Each: 2 * time.Second}),
			given(spec{SnapshotInterval: "1d", ReadyDeadline: "1s"}, alike(2, yesterday)...)),
		End: all(hasReady(2, "data-0", "data-1"), settled(scheduled)),
	},
	{
		// Each schedule keeps one. What is beyond that at the start goes at once, and only then there is a place for both to take another one.
		Name: "places", What: "two schedules are due at once, and their volumes have one place left",
		Limits: judge.Limits{PerVolume: 3},
		Prepare: inOrder(createClass(annotations{v1alpha1.AnnotationMaxPerVolume: "3"}), given(keepsOne, ofDriver(
			claim("data-0", ready(49*hour), yesterday), claim("data-1", ready(49*hour), yesterday))...), andSchedule("other", keepsOne)),
		End: all(hasReady(2, "data-0", "data-1"), settled(scheduled)),
	},
	{
		Name: "uploads", What: "two schedules of slow uploads are due at once; two snapshots may be pending, and those of a PVC are apart",
		Limits: judge.Limits{Pending: 2, Spacing: 2 * time.Second},
		Prepare: inOrder(createClass(annotations{v1alpha1.AnnotationMaxPending: "2", v1alpha1.AnnotationMinSpacing: "2s"}),
			behaves(environment.Behavior{Upload: 150 * time.Millisecond}),
			given(daily, ofDriver(alike(3, yesterday)...)...), andSchedule("other", daily)),
		End: all(hasReady(3, "data-0", "data-1", "data-2"), settled(scheduled)),
	},
	{
		// One place is left to the others, which are taken one after the other.
		Name:   "in-flight-shared",
		What:   "a neighbor's snapshots are never cut and reach the limit, and users' own look like the operator's; the others are taken",
		Limits: judge.Limits{InFlight: 2},
		Neighbor: inOrder(behaves(environment.Behavior{Broken: []string{"data-0", "data-1", "waits-0", "waits-1"}}),
			given(daily, append(alike(2, yesterday, uncutNow), claim("waits-0", yesterday), claim("waits-1", yesterday))...)),
		Prepare: inOrder(behaves(environment.Behavior{Broken: []string{"by-hand-0", "by-hand-1"}, Each: 150 * time.Millisecond}),
			given(daily, append(alike(3, yesterday), claim("by-hand-0"), claim("by-hand-1"))...), takeByHand("by-hand-0"), takeByHand("by-hand-1")),
		End: all(hasReady(2, "data-0", "data-1", "data-2"), hasCount("by-hand-0", 1), hasCount("by-hand-1", 1), settled(scheduled)),
	},
}

// keepsOne keeps the newest snapshot of each PVC.
var keepsOne = spec{SnapshotInterval: "1d", Retention: v1alpha1.Retention{MaxCount: ptr.To[int32](1)}}

// beside is a tenant's namespace whose user removes a hold and requests snapshots while a neighbor does harm. Both must be served within
// seconds. Clocks are left to others.
func beside(w Workload) Workload {
	w.Prepare = given(spec{SnapshotTTL: "1d"}, claim("data-0", held(72*hour), ready(30*minute)), series("data-1", .5))
	w.Steps = []Step{
		when(settled(scheduled), "request snapshots of all PVCs", request(theSchedule, 10*minute)),
		when(settled(scheduled), "remove the hold", unhold("data-0-old-0")),
	}
	w.End = all(isDeleted("data-0-old-0"), hasReady(2, "data-0", "data-1"), settled(scheduled))
	return w
}

// manySchedules stores four schedules with selectors as large as the CRD allows, which select everything, and PVCs.
func manySchedules(ctx context.Context, r *environment.Run) error {
	var large v1alpha1.LabelSelector
	for i := range 16 {
		e := v1alpha1.LabelSelectorRequirement{Key: fmt.Sprintf("example.com/key-%d", i), Operator: metav1.LabelSelectorOpNotIn}
		for n := range 64 {
			e.Values = append(e.Values, v1alpha1.LabelValue(fmt.Sprintf("%s-%d", strings.Repeat("v", 58), n)))
		}
		large.MatchExpressions = append(large.MatchExpressions, e)
	}
	for i := range 4 {
		if _, err := storeSchedule(ctx, r, fmt.Sprint("many-", i), age, spec{Suspend: i > 0, Selector: large}); err != nil {
			return err
		}
	}
	return createClaims(ctx, r, age, nil, alike(6)...)
}

// expireOfNoPVC stores a schedule, and expired snapshots of map keys that are no PVC's.
func expireOfNoPVC(name string, keys, each int) do {
	return func(ctx context.Context, r *environment.Run) error {
		s, err := storeSchedule(ctx, r, name, age, spec{SnapshotTTL: "1d"})
		if err != nil {
			return err
		}
		for i := range keys {
			c := builders.Existing(builders.Claim(r.Namespace, fmt.Sprintf("%s-none-%d", name, i), nil), uuid.NewUUID(), r.Now.Add(-age))
			for n := range each {
				t := taken{Name: old(c.Name, n), Age: time.Duration(72+n) * hour}
				if err := r.Snapshot(ctx, s, c, t); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// daily is a spec whose last slot was half an hour ago, yesterday is the snapshot of the one before, and uncutNow that of the last.
var (
	daily     = spec{SnapshotInterval: "1d", ReadyDeadline: "3h"}
	yesterday = ready(24*hour + 30*minute)
	uncutNow  = taken{Age: 20 * minute, Slot: 30 * minute, Changes: changes{uncut}}
)

// ofDriver makes PVCs those of the run's driver.
func ofDriver(claims ...pvc) []pvc {
	for i := range claims {
		claims[i] = claims[i].with((*environment.Run).OfDriver)
	}
	return claims
}

// takeByHand creates a snapshot that looks like the operator's, without a slot, whose name would keep it from being taken twice.
func takeByHand(name string) do {
	return func(ctx context.Context, r *environment.Run) error {
		s, c := &v1alpha1.SnapshotSchedule{}, &corev1.PersistentVolumeClaim{}
		err := errors.Join(r.Client.Get(ctx, client.ObjectKeyFromObject(theSchedule(r)), s),
			r.Client.Get(ctx, client.ObjectKeyFromObject(theClaim(name)(r)), c))
		if err != nil {
			return err
		}
		v := builders.Snapshot(s, c, r.Now)
		v.Name, v.Annotations = name, nil
		return r.Client.Create(ctx, v)
	}
}
