// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// Workloads with a ClusterSnapshotSchedule. It and its child have the name of the run's namespace, which is the only one that the operator
// sees.

// fleetSpec selects namespaces labeled gold, and keeps what a tenant's edit would delete until the edit is undone.
func fleetSpec(template spec) v1alpha1.ClusterSnapshotScheduleSpec {
	f := v1alpha1.ClusterSnapshotScheduleSpec{}
	f.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"backup": "gold"}
	f.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{"tier": "gold"}
	template.SnapshotInterval = "1h"
	f.Template.Spec = template
	return f
}

func theNamespace(r *environment.Run) client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}}
}

func theChild(r *environment.Run) client.Object {
	return environment.Named(&v1alpha1.SnapshotSchedule{}, r.Namespace, r.Namespace)
}

func theFleet(r *environment.Run) client.Object {
	return environment.Named(&v1alpha1.ClusterSnapshotSchedule{}, "", r.Namespace)
}

const (
	selectPatch   = `{"metadata":{"labels":{"backup":"gold"}}}`
	deselectPatch = `{"metadata":{"labels":{"backup":null}}}`
)

// withChild creates a ClusterSnapshotSchedule, its child in the selected namespace, and PVCs with the child's snapshots.
func withChild(template spec, claims ...pvc) func(context.Context, *environment.Run) error {
	return func(ctx context.Context, r *environment.Run) error {
		f, err := r.Fleet(ctx, age, fleetSpec(template))
		if err != nil {
			return err
		}
		child, err := r.Child(ctx, f, age)
		if err != nil {
			return err
		}
		if err := createClaims(ctx, r, child, claims...); err != nil {
			return err
		}
		return r.Patch(ctx, theNamespace(r), selectPatch)
	}
}

// childSettled expects that the child is the ClusterSnapshotSchedule's, has the template's spec, and has a settled status.
func childSettled(reason string) check {
	return all(isSettled(environment.State.Child, reason), func(s environment.State) error {
		child := s.Child()
		if s.Fleet == nil || child == nil || !metav1.IsControlledBy(child, s.Fleet) {
			return errors.New("there is no child of the ClusterSnapshotSchedule")
		}
		want := s.Fleet.Spec.Template.Spec
		want.Suspend = want.Suspend || reason == v1alpha1.ReasonSuspended
		if !reflect.DeepEqual(child.Spec, want) || child.Labels["tier"] != "gold" {
			return errors.New("the child has not the template's spec and labels")
		}
		return nil
	})
}

// fleetSettled expects that the status of the ClusterSnapshotSchedule is up to date and Ready has a reason, for so many namespaces,
// children, and detached children.
func fleetSettled(reason string, namespaces, children, detached int32) check {
	return func(s environment.State) error {
		if s.Fleet == nil || s.Fleet.Status.ObservedGeneration != s.Fleet.Generation {
			return errors.New("the status of the ClusterSnapshotSchedule is of an older generation")
		}
		ready := meta.FindStatusCondition(s.Fleet.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Reason != reason {
			return fmt.Errorf("condition Ready of the ClusterSnapshotSchedule is %v, want reason %s", ready, reason)
		}
		status := s.Fleet.Status
		if status.Inputs == nil || status.Detached == nil || status.Inputs.Namespaces.Total != namespaces ||
			status.Outputs.SnapshotSchedules.Total != children || status.Detached.SnapshotSchedules != detached {
			return fmt.Errorf("the status of the ClusterSnapshotSchedule does not count %d namespaces, %d children, %d detached", namespaces,
				children, detached)
		}
		return nil
	}
}

// generation expects that a user, or the operator, has changed the child's spec so often.
func generation(n int64) check {
	return func(s environment.State) error {
		if child := s.Child(); child == nil || child.Generation < n {
			return fmt.Errorf("the child has not reached generation %d", n)
		}
		return nil
	}
}

// labeled expects a label that a user gave the child.
func labeled(key, value string) check {
	return func(s environment.State) error {
		if child := s.Child(); child == nil || child.Labels[key] != value {
			return fmt.Errorf("the child has not the label %s=%s", key, value)
		}
		return nil
	}
}

func fleetSelects() Workload {
	return Workload{
		Name:     "fleet",
		What:     "a confirmed ClusterSnapshotSchedule selects a namespace; a tenant weakens the child and deletes it; the template changes",
		Collects: true,
		Fleet:    true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			template := spec{SnapshotTTL: "30d", DeletionPolicy: v1alpha1.DeletionDelete}
			template.Retention.EditDelay = "1h"
			if _, err := r.Fleet(ctx, age, fleetSpec(template)); err != nil {
				return err
			}
			if err := r.Patch(ctx, theFleet(r), `{"metadata":{"annotations":{%q:"1"}}}`, v1alpha1.AnnotationConfirmGeneration); err != nil {
				return err
			}
			return createClaims(ctx, r, nil, claim("data-0"), claim("data-1"))
		},
		Steps: []Step{
			patch("select the namespace", once(fleetSettled(v1alpha1.ReasonNoMatchingNamespaces, 0, 0, 0)), theNamespace, selectPatch),
			patch("weaken the child", once(childSettled(v1alpha1.ReasonScheduled), hasReady("data-0", 1)), theChild,
				`{"metadata":{"labels":{"team":"shop","tier":"bronze"}},"spec":{"suspend":true,"snapshotTTL":"1s","jitter":"1m",`+
					`"selector":{"matchLabels":{"app":"none"}},"retention":{"minReady":0,"maxCount":1,"editDelay":null}}}`),
			patch("change the template", once(childSettled(v1alpha1.ReasonScheduled), generation(3)), theFleet,
				`{"spec":{"template":{"spec":{"snapshotTTL":"20d","retention":{"keep":{"daily":7}}}}}}`),
			remove("delete the child", once(childSettled(v1alpha1.ReasonScheduled), generation(4), labeled("team", "shop")), theChild),
		},
		End: all(childSettled(v1alpha1.ReasonScheduled), labeled("team", ""), hasReady("data-0", 1), hasReady("data-1", 1),
			fleetSettled(v1alpha1.ReasonScheduled, 1, 1, 0)),
	}
}

func fleetTombstone() Workload {
	template := spec{SnapshotTTL: "1d", DeletionPolicy: v1alpha1.DeletionDelete}
	// Short, because an operator with an old view may take one more snapshot of the PVC that is gone.
	template.Retention.Detached.SnapshotTTL = "3s"
	return Workload{
		Name: "fleet-tombstone",
		What: "a namespace is no longer selected: its snapshots expire but for the floor; it is selected again, excluded, and its PVC deleted; " +
			"a snapshot that only refers to the child keeps it; it is selected again without a PVC, and relabeled",
		Fleet:   true,
		Deletes: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			prepare := withChild(template, claim("data-0", taken{Age: 72 * hour, Held: true}, ready(48*hour), current()))
			if err := prepare(ctx, r); err != nil {
				return err
			}
			// Otherwise each change of the child's spec would keep everything for a minute.
			if err := r.Patch(ctx, theFleet(r), `{"metadata":{"annotations":{%q:"1"}}}`, v1alpha1.AnnotationConfirmGeneration); err != nil {
				return err
			}
			return createManual(ctx, r)
		},
		Steps: []Step{
			patch("relabel the namespace", once(childSettled(v1alpha1.ReasonScheduled), keeps("data-0", "data-0-old-0", "data-0-old-2")),
				theNamespace, deselectPatch),
			patch("remove the hold", once(childSettled(v1alpha1.ReasonSuspended), fleetSettled(v1alpha1.ReasonNoMatchingNamespaces, 0, 1, 1)),
				theSnapshot("data-0-old-0"), `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationHold),
			patch("select the namespace", once(childSettled(v1alpha1.ReasonSuspended), keeps("data-0", "data-0-old-2")),
				theNamespace, selectPatch),
			patch("exclude the namespace", once(childSettled(v1alpha1.ReasonScheduled), fleetSettled(v1alpha1.ReasonScheduled, 1, 1, 0)),
				theNamespace, `{"metadata":{"annotations":{%q:""}}}`, v1alpha1.AnnotationExclude),
			remove("delete the PVC", once(childSettled(v1alpha1.ReasonSuspended), keeps("data-0", "data-0-old-2")), theClaim("data-0")),
			calm(patch("remove the reference", once(childSettled(v1alpha1.ReasonSuspended), keeps("data-0"),
				fleetSettled(v1alpha1.ReasonNoMatchingNamespaces, 0, 1, 1)), theManual, `{"metadata":{"ownerReferences":null}}`)),
			patch("include the namespace", once(noSchedule, unowned(1), fleetSettled(v1alpha1.ReasonNoMatchingNamespaces, 0, 0, 0)),
				theNamespace, `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationExclude),
			patch("relabel the namespace again", once(childSettled(v1alpha1.ReasonNoMatchingClaims), fleetSettled(v1alpha1.ReasonScheduled, 1, 1, 0)),
				theNamespace, deselectPatch),
		},
		End: all(noSchedule, unowned(1), fleetSettled(v1alpha1.ReasonNoMatchingNamespaces, 0, 0, 0)),
	}
}

func theManual(r *environment.Run) client.Object {
	return environment.Named(&snapshotv1.VolumeSnapshot{}, r.Namespace, "manual")
}

// createManual creates a user's own snapshot that refers to the child: the operator's cache does not hold it, and it would be deleted with
// the child.
func createManual(ctx context.Context, r *environment.Run) error {
	child := &v1alpha1.SnapshotSchedule{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(theChild(r)), child); err != nil {
		return err
	}
	v := theManual(r).(*snapshotv1.VolumeSnapshot)
	v.Spec.Source.PersistentVolumeClaimName = ptr.To("manual")
	v.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "SnapshotSchedule", Name: child.Name, UID: child.UID,
	}}
	return r.Client.Create(ctx, v)
}

func fleetForeign() Workload {
	const mapKey, fleet = v1alpha1.LabelMapKey, v1alpha1.LabelClusterSchedule
	template := spec{SnapshotTTL: "30d", DeletionPolicy: v1alpha1.DeletionDelete}
	foreign := func(s environment.State) error {
		child := s.Child()
		if child == nil || len(child.OwnerReferences) > 0 || child.Spec.SnapshotTTL != "9d" || child.Spec.Suspend {
			return errors.New("the SnapshotSchedule is not as its user left it")
		}
		return nil
	}
	return Workload{
		Name: "fleet-foreign",
		What: "the SnapshotSchedule of the name is a copy from another namespace; it gets the map key of this one, as from a backup tool, and " +
			"is adopted; it is released; the namespace is no longer selected",
		Fleet: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			if _, err := r.Fleet(ctx, age, fleetSpec(template)); err != nil {
				return err
			}
			s, err := r.Schedule(ctx, r.Namespace, age, spec{SnapshotInterval: "1h", SnapshotTTL: "20d"})
			if err != nil {
				return err
			}
			if err := createClaims(ctx, r, s, claim("data-0", ready(7*hour), current())); err != nil {
				return err
			}
			if err := r.Patch(ctx, theChild(r), `{"metadata":{"labels":{%q:"other",%q:%q}}}`, mapKey, fleet, r.Namespace); err != nil {
				return err
			}
			return r.Patch(ctx, theNamespace(r), selectPatch)
		},
		Steps: []Step{
			{
				What: "restore the map key",
				When: once(isSettled(environment.State.Child, v1alpha1.ReasonScheduled), fleetSettled(v1alpha1.ReasonSchedulesFailing, 1, 0, 0)),
				Do: func(ctx context.Context, r *environment.Run) error {
					return r.Patch(ctx, theChild(r), `{"metadata":{"labels":{%q:%q}}}`, mapKey, r.Namespace)
				},
			},
			patch("remove the map key", once(childSettled(v1alpha1.ReasonScheduled), fleetSettled(v1alpha1.ReasonScheduled, 1, 1, 0)), theChild,
				`{"metadata":{"labels":{%q:null}},"spec":{"snapshotTTL":"9d"}}`, mapKey),
			patch("relabel the namespace", once(foreign, fleetSettled(v1alpha1.ReasonSchedulesFailing, 1, 0, 0)), theNamespace, deselectPatch),
		},
		End: all(foreign, isSettled(environment.State.Child, v1alpha1.ReasonScheduled), hasReady("data-0", 2), exist("data-0-old-0", "data-0-old-1"),
			fleetSettled(v1alpha1.ReasonNoMatchingNamespaces, 0, 0, 0)),
	}
}

// fleetDeleted: the child takes no snapshots. Under a late cache it is created again after the garbage collector deleted it, and deleted
// again.
func fleetDeleted() Workload {
	return Workload{
		Name:     "fleet-deleted",
		What:     "a ClusterSnapshotSchedule whose template has deletionPolicy Orphan is deleted in the foreground",
		Collects: true,
		Fleet:    true,
		Prepare:  withChild(spec{Suspend: true, DeletionPolicy: v1alpha1.DeletionOrphan}, claim("data-0", orphans(ready(7*hour), current())...)),
		Steps: []Step{remove("delete the ClusterSnapshotSchedule", once(childSettled(v1alpha1.ReasonSuspended),
			fleetSettled(v1alpha1.ReasonScheduled, 1, 1, 0)), theFleet, client.PropagationPolicy(metav1.DeletePropagationForeground))},
		End: all(noSchedule, unowned(2), func(s environment.State) error {
			if s.Fleet != nil {
				return errors.New("the ClusterSnapshotSchedule still exists")
			}
			return nil
		}),
	}
}
