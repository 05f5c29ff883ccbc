// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// earlyDetached deletes snapshots of detached map keys early.
var earlyDetached = v1alpha1.Retention{Detached: v1alpha1.DetachedRetention{SnapshotTTL: "2h"}}

func deleteClaim(name string) Step {
	return remove("delete PVC "+name, once(settled(v1alpha1.ReasonScheduled)), theClaim(name))
}

func gone() Workload {
	return Workload{
		Name:    "gone",
		What:    "a PVC is deleted; its snapshots expire under retention.detached",
		Deletes: true,
		Prepare: given(spec{SnapshotTTL: "30d", Retention: earlyDetached},
			claim("data-0", ready(7*hour), ready(6*hour), current()),
			claim("data-1", ready(6*hour), current())),
		Steps: []Step{deleteClaim("data-0")},
		End: all(keeps("data-0", "data-0-old-2"), keeps("data-1", "data-1-old-0", "data-1-old-1"),
			detachedKeys(1), settled(v1alpha1.ReasonScheduled)),
	}
}

func recreated() Workload {
	return Workload{
		Name:    "recreated",
		What:    "a PVC is deleted, and another is created with its name",
		Deletes: true,
		Prepare: given(spec{SnapshotTTL: "30d", Retention: earlyDetached}, claim("data-0", ready(7*hour), current())),
		Steps: []Step{deleteClaim("data-0"), {
			What: "create PVC data-0 again",
			When: func(s environment.State) bool { return s.Claim("data-0") == nil },
			Do: func(ctx context.Context, r *environment.Run) error {
				_, err := r.Claim(ctx, "data-0", 0, nil)
				return err
			},
		}},
		End: all(exist("data-0-old-1"), hasReady("data-0", 2), detachedKeys(1), settled(v1alpha1.ReasonScheduled)),
	}
}

// selecting is a spec that selects the PVCs of app db.
func selecting() spec {
	return spec{
		Selector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}}, SnapshotTTL: "30d", Retention: earlyDetached,
	}
}

func relabeled() Workload {
	relabel := func(what, app string, when func(environment.State) bool) Step {
		return patch(what, when, theClaim("data-0"), `{"metadata":{"labels":{"app":%q}}}`, app)
	}
	return Workload{
		Name:    "relabel",
		What:    "a PVC is relabeled so that it no longer matches the selector, and then back",
		Deletes: true,
		Prepare: given(selecting(),
			claimOf("db", "data-0", ready(7*hour), current()),
			claimOf("db", "data-1", ready(7*hour), current())),
		Steps: []Step{
			relabel("change the label", "web", once(settled(v1alpha1.ReasonScheduled))),
			relabel("change the label back", "db",
				once(detachedKeys(1), isDeleted("data-0-old-0"), settled(v1alpha1.ReasonScheduled))),
		},
		End: all(keeps("data-0", "data-0-old-1"), keeps("data-1", "data-1-old-0", "data-1-old-1"),
			detachedKeys(0), settled(v1alpha1.ReasonScheduled)),
	}
}

func selectorEdited() Workload {
	return Workload{
		Name:    "selector",
		What:    "the selector is changed from one PVC to another",
		Deletes: true,
		Prepare: given(selecting(), claimOf("db", "data-0", ready(7*hour), current()), claimOf("web", "data-1")),
		Steps: []Step{patch("select the other PVC", once(settled(v1alpha1.ReasonScheduled)), theSchedule,
			`{"spec":{"selector":{"matchLabels":{"app":"web"}}}}`)},
		End: all(keeps("data-0", "data-0-old-1"), hasReady("data-1", 1), detachedKeys(1), settled(v1alpha1.ReasonScheduled)),
	}
}
