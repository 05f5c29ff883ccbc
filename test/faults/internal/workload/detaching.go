// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

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
				_, err := r.Claim(ctx, "data-0", 0, nil)
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
	return expect(func(s state) bool { return s.Claim(name) == nil }, "PVC %s still exists", name)
}
