// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

var retiring = []Workload{
	{
		Name: "expiry", What: "snapshots expire; the floor, a hold and finalizers keep some of them",
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d"},
			claim("data-0", snapshot(72*hour, protected), snapshot(48*hour, protected), ready(26*hour), ready(hour)),
			claim("data-1", ready(72*hour), ready(48*hour), failed(26*hour), failed(25*hour)),
			claim("data-2", held(72*hour), ready(48*hour), ready(2*hour))),
		End: all(keeps("data-0", 3), keeps("data-1", 1), keeps("data-2", 0, 2), settled(suspended)),
	},
	{
		Name: "cap", What: "a PVC has more snapshots than maxCount and its tiers allow",
		Prepare: given(
			spec{Suspend: true, Retention: v1alpha1.Retention{
				MaxCount: ptr.To[int32](3), MinReady: ptr.To[int32](2), Keep: v1alpha1.Keep{Last: 4},
			}},
			series("data-0", 60, 50, 40, 30, 20, 10), series("data-1", 40, 30, 20)),
		End: all(keeps("data-0", 3, 4, 5), keeps("data-1", 0, 1, 2), settled(suspended)),
	},
	{
		Name: "replace", What: "snapshots that were never cut are replaced at the next slot",
		Prepare: inOrder(behaves(environment.Behavior{Protects: true, Broken: []string{"data-0", "data-1"}}), given(spec{},
			claim("data-0", ready(missed), snapshot(2*hour+30*minute, uncut, protected)),
			claim("data-1", ready(missed), snapshot(2*hour+30*minute, uncut)),
			series("data-2", .5))),
		Steps: []Step{when(all(isDeleted("data-0-old-1", "data-1-old-1"), hasCount("data-0", 2), hasCount("data-1", 2)),
			"repair the driver", behaves(environment.Behavior{Protects: true}))},
		End: all(hasReady(2, "data-0", "data-1"), hasReady(1, "data-2"), settled(scheduled)),
	},
	{
		Name: "legal-hold", What: "deletes of some snapshots are refused for good; the others are deleted, and status reports it",
		Broken:           "data-0",
		DeletesPerSecond: 2, // at once as many as are refused
		Always: always(plan.Quota, func(p plan.Point) bool {
			return p.Verb == "delete" && slices.Contains([]string{"data-0-old-0", "data-0-old-1"}, p.Object)
		}),
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d"}, series("data-0", 72, 60, 48, 1), series("data-1", 48, 1)),
		End:     all(keeps("data-0", 0, 1, 3), keeps("data-1", 1), settled(v1alpha1.ReasonRetentionFailing)),
	},
	{
		Name: "hold", What: "the hold of an expired snapshot is removed",
		Prepare: heldExpired,
		Steps:   []Step{when(settled(suspended), "remove the hold", unhold("data-0-old-0"))},
		End:     all(keeps("data-0", 1), settled(suspended)),
	},
	{
		// An error that passes must not cost the last good snapshot.
		Name: "lost", What: "the last good snapshot, which the floor keeps beyond its TTL, loses its readiness",
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d"}, series("data-0", 72), series("data-1", 1)),
		Steps:   []Step{when(settled(suspended), "report an error", loseReadiness("data-0-old-0"))},
		End:     all(keeps("data-0", 0), hasReady(1, "data-1"), settled(v1alpha1.ReasonSnapshotsFailing)),
	},
	{
		// Nor must it cost one that a tier keeps, although there is a newer one.
		Name: "lost-tier", What: "a snapshot that a tier keeps beyond its TTL loses its readiness",
		Prepare: given(spec{Suspend: true, SnapshotTTL: "1d", Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Daily: 30}}},
			series("data-0", 72, 1)),
		Steps: []Step{when(settled(suspended), "report an error", loseReadiness("data-0-old-0"))},
		End:   all(keeps("data-0", 0, 1), settled(suspended)),
	},
	{
		Name: "edit", What: "the TTL is shortened, then lengthened",
		Prepare: given(spec{SnapshotTTL: "30d"}, series("data-0", 7, 6, .5), series("data-1", 7, .5)),
		Steps: []Step{
			when(settled(scheduled), "shorten the TTL", edit(`{"snapshotTTL":"2h"}`)),
			when(all(keeps("data-0", 2), keeps("data-1", 1), settled(scheduled)), "lengthen the TTL", edit(`{"snapshotTTL":"60d"}`)),
		},
		End: all(keeps("data-0", 2), keeps("data-1", 1), settled(scheduled)),
	},
	{
		Name: "invalid", What: "the spec is invalid, a cron line that never fires, and then fixed",
		Prepare: given(spec{Schedule: "0 0 30 2 *", SnapshotTTL: "1d"}, series("data-0", 72, 48, .5), series("data-1", 5.5)),
		Steps:   []Step{when(settled(v1alpha1.ReasonInvalidSpec), "fix the spec", edit(`{"schedule":null,"snapshotInterval":"1h"}`))},
		End:     all(hasReady(1, "data-0"), hasReady(2, "data-1"), settled(scheduled)),
	},
	{
		Name: "imports", What: "snapshots without a status were imported: they block no slot, and are deleted by age",
		Prepare: given(spec{SnapshotTTL: "1d"},
			claim("data-0", ready(missed), snapshot(2*hour, imported, slotless), snapshot(10*minute, imported, slotless)),
			claim("data-1", ready(missed), taken{Age: minute, Slot: 30 * minute, Changes: changes{imported}}),
			claim("data-2", ready(30*hour), snapshot(26*hour, imported, slotless), ready(30*minute),
				snapshot(2*hour, imported, slotless, func(v *snapshotv1.VolumeSnapshot) {
					v.Labels[v1alpha1.LabelMapKey] = "3bd0e9a4-7a0b-4c0e-8f5e-0c9f3f1f7c11" // of a PVC that is gone
				}))),
		End: all(exist("data-0-old-1", "data-0-old-2", "data-1-old-1", "data-2-old-3"), isDeleted("data-2-old-1", "data-2-old-0"),
			hasReady(2, "data-0"), hasReady(1, "data-1", "data-2"), owns(8), detachedKeys(1), settled(scheduled)),
	},
	{
		Name: "restored", What: "a backup tool has restored snapshots of five days, all in one hour; tiers keep those of three days",
		Prepare: given(spec{Suspend: true, Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Daily: 3}}},
			claim("data-0", restoredOf(5), restoredOf(4), restoredOf(3), restoredOf(2), restoredOf(1))),
		End: all(keeps("data-0", 2, 3, 4), settled(suspended)),
	},
	{
		Name:    "midnights",
		What:    "daily snapshots were stamped a second before midnight, and one by a clock that was a day ahead; tiers keep those of five days",
		Prepare: midnights,
		End:     all(keeps("data-0", 3, 4, 5, 6, 7), keeps("data-1", 0, 1, 3, 4, 5), settled(suspended)),
	},
}

// heldExpired creates a PVC with an expired snapshot that only a hold keeps.
var heldExpired = given(spec{Suspend: true, SnapshotTTL: "1d"}, claim("data-0", held(72*hour), ready(hour)))

func failed(age time.Duration) taken {
	return snapshot(age, unready, func(v *snapshotv1.VolumeSnapshot) {
		v.Status.Error = &snapshotv1.VolumeSnapshotError{Message: ptr.To("the driver could not upload it"), Time: &v.CreationTimestamp}
	})
}

// imported makes a snapshot one that a user made from a content, and labeled for the schedule. Its content is missing, so that it never gets
// a status.
func imported(v *snapshotv1.VolumeSnapshot) {
	v.Name = v.Annotations[environment.Nickname]
	v.OwnerReferences, v.Status = nil, nil
	v.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: &v.Name}
}

func slotless(v *snapshotv1.VolumeSnapshot) { delete(v.Annotations, v1alpha1.AnnotationScheduledAt) }

// restoredOf is a snapshot of some days ago that was created again an hour ago.
func restoredOf(days int) taken {
	return taken{Age: hour, Slot: time.Duration(days) * 24 * hour, Changes: changes{orphaned}}
}

func loseReadiness(snapshot string) do {
	return func(ctx context.Context, r *environment.Run) error {
		return r.PatchStatus(ctx, r.Called(snapshot), `{"status":{"readyToUse":false,"error":{"time":%q,"message":"the content is missing"}}}`,
			r.Now.UTC().Format(time.RFC3339))
	}
}

// midnights: every second snapshot of data-0 was stamped by an API server whose clock was behind. The last of data-1 was taken by an
// operator whose clock was ahead by a day: it counts on the day on which it was taken.
func midnights(ctx context.Context, r *environment.Run) error {
	today := r.Now.UTC().Truncate(24 * hour)
	at := func(days int) time.Duration { return r.Now.Sub(today.AddDate(0, 0, -days)) }
	var stamped, ahead []taken
	for days := 7; days >= 0; days-- {
		stamped = append(stamped, taken{Age: at(days) + time.Duration(days%2)*time.Second, Slot: at(days)})
	}
	for days := 5; days >= 1; days-- {
		ahead = append(ahead, ready(at(days)))
	}
	ahead = append(ahead, taken{Age: at(3) - 12*hour, Slot: at(2) - 12*hour})
	return given(spec{Suspend: true, Schedule: "@daily", Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Daily: 5}}},
		claim("data-0", stamped...), claim("data-1", ahead...))(ctx, r)
}

var detaching = []Workload{
	{
		Name: "gone", What: "a PVC is deleted; its snapshots expire under retention.detached",
		Prepare: given(spec{SnapshotTTL: "30d", Retention: earlyDetached}, series("data-0", 7, 6, .5), series("data-1", 6, .5)),
		Steps:   []Step{when(settled(scheduled), "delete the PVC", remove(theClaim("data-0")))},
		End:     all(keeps("data-0", 2), keeps("data-1", 0, 1), detachedKeys(1), settled(scheduled)),
	},
	{
		Name: "recreated", What: "a PVC is deleted, and another is created with its name",
		Prepare: given(spec{SnapshotTTL: "30d", Retention: earlyDetached}, series("data-0", 7, .5)),
		Steps: []Step{
			when(settled(scheduled), "delete the PVC", remove(theClaim("data-0"))),
			when(noClaim("data-0"), "create it again", func(ctx context.Context, r *environment.Run) error {
				_, err := r.Claim(ctx, "data-0", 0)
				return err
			}),
		},
		End: all(exist("data-0-old-1"), hasReady(2, "data-0"), detachedKeys(1), settled(scheduled)),
	},
	{
		Name: "relabel", What: "a PVC is relabeled so that it no longer matches the selector, and then back",
		Prepare: given(selecting, series("data-0", 7, .5).of("db"), series("data-1", 7, .5).of("db")),
		Steps: []Step{
			when(settled(scheduled), "change the label", label(theClaim("data-0"), "app", "web")),
			when(all(detachedKeys(1), isDeleted("data-0-old-0"), settled(scheduled)), "change it back", label(theClaim("data-0"), "app", "db")),
		},
		End: all(keeps("data-0", 1), keeps("data-1", 0, 1), detachedKeys(0), settled(scheduled)),
	},
	{
		Name: "selector", What: "the selector is changed from one PVC to another",
		Prepare: given(selecting, series("data-0", 7, .5).of("db"), claim("data-1").of("web")),
		Steps:   []Step{when(settled(scheduled), "select the other PVC", edit(`{"selector":{"matchLabels":{"app":"web"}}}`))},
		End:     all(keeps("data-0", 1), hasReady(1, "data-1"), detachedKeys(1), settled(scheduled)),
	},
}

// earlyDetached deletes snapshots of detached map keys early.
var earlyDetached = v1alpha1.Retention{Detached: v1alpha1.DetachedRetention{SnapshotTTL: "2h"}}

// selecting is a spec that selects the PVCs of app db.
var selecting = spec{
	Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}}, SnapshotTTL: "30d", Retention: earlyDetached,
}

func noClaim(name string) check {
	return expect(func(s state) bool { return judge.Named(s.Claims, name) == nil }, "PVC %s still exists", name)
}
