// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// detached is a policy under which snapshots of PVCs that are gone go early.
var detached = v1alpha1.Retention{Detached: v1alpha1.DetachedRetention{SnapshotTTL: "2h"}}

func gone() Workload {
	return Workload{
		Name:    "gone",
		What:    "a PVC is deleted, and its snapshots are retired as those of a PVC that is gone",
		Deletes: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			return on(ctx, r).nightly(age, spec{SnapshotTTL: "30d", Retention: detached}).
				claim("data-0", age, at(7*hour), at(6*hour), current()).
				claim("data-1", age, at(6*hour), current()).err
		},
		Steps: []Step{deleteClaim("data-0", settled(v1alpha1.ReasonScheduled))},
		End: func(s environment.State) error {
			return errors.Join(
				left(s, "data-0", "data-0-old-2"), left(s, "data-1", "data-1-old-0", "data-1-old-1"),
				detaches(s, 1), isSettled(s, v1alpha1.ReasonScheduled))
		},
	}
}

func deleteClaim(name string, when func(environment.State) bool) Step {
	return Step{
		What: "delete PVC " + name,
		When: when,
		Do: func(ctx context.Context, r *environment.Run) error {
			return r.Client.Delete(ctx, environment.Named(&corev1.PersistentVolumeClaim{}, r.Namespace, name))
		},
	}
}

func detaches(s environment.State, keys int32) error {
	o := s.Schedule(nightly)
	if o == nil || o.Status.Detached.MapKeys != keys {
		return fmt.Errorf("status does not count %d detached map keys", keys)
	}
	return nil
}

func recreated() Workload {
	return Workload{
		Name:    "recreated",
		What:    "a PVC is deleted and made anew under its name",
		Deletes: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			return on(ctx, r).nightly(age, spec{SnapshotTTL: "30d", Retention: detached}).
				claim("data-0", age, at(7*hour), current()).err
		},
		Steps: []Step{
			deleteClaim("data-0", settled(v1alpha1.ReasonScheduled)),
			{
				What: "make it anew",
				When: func(s environment.State) bool { return s.Claim("data-0") == nil },
				Do: func(ctx context.Context, r *environment.Run) error {
					_, err := r.Claim(ctx, "data-0", 0, nil)
					return err
				},
			},
		},
		End: func(s environment.State) error {
			if s.Snapshot("data-0-old-1") == nil {
				return errors.New("the young snapshot of the old PVC is gone")
			}
			return errors.Join(ready(s, "data-0", 2), detaches(s, 1), isSettled(s, v1alpha1.ReasonScheduled))
		},
	}
}

func inApp(app string) map[string]string { return map[string]string{"app": app} }

func relabelled() Workload {
	label := func(what, app string, when func(environment.State) bool) Step {
		return Step{What: what, When: when, Do: func(ctx context.Context, r *environment.Run) error {
			return r.Patch(ctx, environment.Named(&corev1.PersistentVolumeClaim{}, r.Namespace, "data-0"),
				`{"metadata":{"labels":{"app":%q}}}`, app)
		}}
	}
	return Workload{
		Name:    "relabel",
		What:    "a PVC no longer matches, and then does again",
		Deletes: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			return on(ctx, r).nightly(age, spec{
				Selector: metav1.LabelSelector{MatchLabels: inApp("db")}, SnapshotTTL: "30d", Retention: detached,
			}).
				labelled("data-0", age, inApp("db"), at(7*hour), current()).
				labelled("data-1", age, inApp("db"), at(7*hour), current()).err
		},
		Steps: []Step{
			label("take the label off", "web", settled(v1alpha1.ReasonScheduled)),
			label("put it back", "db", func(s environment.State) bool {
				return detaches(s, 1) == nil && s.Snapshot("data-0-old-0") == nil && isSettled(s, v1alpha1.ReasonScheduled) == nil
			}),
		},
		End: func(s environment.State) error {
			return errors.Join(
				left(s, "data-0", "data-0-old-1"), left(s, "data-1", "data-1-old-0", "data-1-old-1"),
				detaches(s, 0), isSettled(s, v1alpha1.ReasonScheduled))
		},
	}
}

func selectorEdited() Workload {
	return Workload{
		Name:    "selector",
		What:    "the selector is changed from one PVC to another",
		Deletes: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			return on(ctx, r).nightly(age, spec{
				Selector: metav1.LabelSelector{MatchLabels: inApp("db")}, SnapshotTTL: "30d", Retention: detached,
			}).
				labelled("data-0", age, inApp("db"), at(7*hour), current()).
				labelled("data-1", age, inApp("web")).err
		},
		Steps: []Step{{
			What: "select the other",
			When: settled(v1alpha1.ReasonScheduled),
			Do: func(ctx context.Context, r *environment.Run) error {
				return r.Patch(ctx, environment.Named(&v1alpha1.SnapshotSchedule{}, r.Namespace, nightly),
					`{"spec":{"selector":{"matchLabels":{"app":"web"}}}}`)
			},
		}},
		End: func(s environment.State) error {
			return errors.Join(left(s, "data-0", "data-0-old-1"), ready(s, "data-1", 1),
				detaches(s, 1), isSettled(s, v1alpha1.ReasonScheduled))
		},
	}
}
