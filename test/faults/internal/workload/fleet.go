// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// fleets are the workloads with a ClusterSnapshotSchedule. It and its child have the name of the run's namespace, which is the only one
// that the operator sees.
var fleets = []Workload{
	{
		Name:     "fleet",
		What:     "a confirmed ClusterSnapshotSchedule selects a namespace; a tenant weakens the child and deletes it; the template changes",
		Collects: true, Fleet: true,
		Prepare: inOrder(givenFleet(spec{SnapshotTTL: "30d", Retention: v1alpha1.Retention{EditDelay: "1h"}}), confirm(theFleet, "1"), withoutSchedule(claim("data-0"), claim("data-1"))),
		Steps: []Step{
			when(selectsNone, "select the namespace", selectNamespace),
			when(all(childSettled(scheduled), hasReady(1, "data-0")), "weaken the child", patch(theChild,
				`{"metadata":{"labels":{"team":"shop","tier":"bronze"}},"spec":{"suspend":true,"snapshotTTL":"1s","jitter":"1m",`+
					`"selector":{"matchLabels":{"app":"none"}},"retention":{"minReady":0,"maxCount":1,"editDelay":null}}}`)),
			when(all(childSettled(scheduled), generation(3)), "change the template",
				patch(theFleet, `{"spec":{"template":{"spec":{"snapshotTTL":"20d","retention":{"keep":{"daily":7}}}}}}`)),
			when(all(childSettled(scheduled), generation(4), ofTeam("shop")), "delete the child", remove(theChild)),
		},
		End: all(childSettled(scheduled), ofTeam(""), hasReady(1, "data-0", "data-1"), selectsOne),
	},
	{
		Name: "fleet-tombstone",
		What: "a namespace is no longer selected: its snapshots expire but for the floor; it is selected again, excluded, and its PVC deleted; " +
			"a snapshot that only refers to the child keeps it; it is selected again without a PVC, and relabeled",
		Fleet: true,
		Prepare: inOrder(withChild(brieflyDetached, claim("data-0", held(72*hour), ready(48*hour), ready(30*minute))),
			// Otherwise each change of the child's spec would keep everything for a minute.
			confirm(theFleet, "1"), createManual),
		Steps: []Step{
			when(all(childSettled(scheduled), keeps("data-0", 0, 2)), "relabel the namespace", deselectNamespace),
			when(all(childSettled(suspended), detachedChild), "remove the hold", unhold("data-0-old-0")),
			when(all(childSettled(suspended), keeps("data-0", 2)), "select the namespace", selectNamespace),
			when(all(childSettled(scheduled), selectsOne), "exclude the namespace", annotate(theNamespace, v1alpha1.AnnotationExclude, "")),
			when(all(childSettled(suspended), keeps("data-0", 2)), "delete the PVC", remove(theClaim("data-0"))),
			calm(when(all(childSettled(suspended), keeps("data-0"), detachedChild), "remove the reference",
				patch(theManual, `{"metadata":{"ownerReferences":null}}`))),
			when(all(noSchedule, unowned(1), selectsNone), "include the namespace", annotate(theNamespace, v1alpha1.AnnotationExclude, nil)),
			when(all(childSettled(v1alpha1.ReasonNoMatchingClaims), selectsOne), "relabel the namespace again", deselectNamespace),
		},
		End: all(noSchedule, unowned(1), selectsNone),
	},
	{
		Name: "fleet-foreign",
		What: "the SnapshotSchedule of the name is a copy from another namespace; it gets the map key of this one, as from a backup tool, and " +
			"is adopted; the map key is taken off, and put back; the namespace is no longer selected",
		Fleet:   true,
		Prepare: inOrder(givenFleet(spec{SnapshotTTL: "30d"}), givenForeign, selectNamespace),
		Steps: []Step{
			when(all(settled(scheduled), fleetSettled(v1alpha1.ReasonSchedulesFailing, 1, 0, 0)), "restore the map key", setMapKey),
			when(all(childSettled(scheduled), selectsOne), "remove the map key",
				patch(theChild, `{"metadata":{"labels":{%q:null}},"spec":{"snapshotTTL":"9d"}}`, v1alpha1.LabelMapKey)),
			when(all(childSettled(scheduled), generation(4), hasMapKey, selectsOne), "relabel the namespace", deselectNamespace),
		},
		End: all(childSettled(suspended), hasMapKey, hasReady(2, "data-0"), exist("data-0-old-0", "data-0-old-1"), detachedChild),
	},
	{
		// The child takes no snapshots. Under a late cache it is created again after the garbage collector deleted it, and deleted again.
		Name: "fleet-deleted", What: "a ClusterSnapshotSchedule whose template has deletionPolicy Orphan is deleted in the foreground",
		Collects: true, Fleet: true,
		Prepare: withChild(orphaningTemplate, claim("data-0", orphan(7*hour), orphan(30*minute))),
		Steps: []Step{when(all(childSettled(suspended), selectsOne), "delete the ClusterSnapshotSchedule",
			remove(theFleet, client.PropagationPolicy(metav1.DeletePropagationForeground)))},
		End: all(noSchedule, unowned(2), expect(func(s state) bool { return len(s.Fleets) == 0 }, "the ClusterSnapshotSchedule still exists")),
	},
}

var orphaningTemplate = spec{Suspend: true, DeletionPolicy: v1alpha1.DeletionOrphan}

// brieflyDetached keeps detached snapshots for 3 seconds: an operator with an old view may take one more of the PVC that is gone.
var brieflyDetached = spec{SnapshotTTL: "1d", Retention: v1alpha1.Retention{Detached: v1alpha1.DetachedRetention{SnapshotTTL: "3s"}}}

func storeFleet(ctx context.Context, r *environment.Run, template spec) (*v1alpha1.ClusterSnapshotSchedule, error) {
	f := &v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}}
	f.Spec.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"backup": "gold"}
	f.Spec.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{"tier": "gold"}
	template.SnapshotInterval, template.DeletionPolicy = "1h", cmp.Or(template.DeletionPolicy, v1alpha1.DeletionDelete)
	f.Spec.Template.Spec = template
	return environment.Store(ctx, r, f, age)
}

// givenFleet creates a ClusterSnapshotSchedule that selects namespaces labeled gold.
func givenFleet(template spec) do {
	return func(ctx context.Context, r *environment.Run) error {
		_, err := storeFleet(ctx, r, template)
		return err
	}
}

// withoutSchedule creates PVCs whose snapshots are of a child that is gone.
func withoutSchedule(claims ...pvc) do {
	return func(ctx context.Context, r *environment.Run) error {
		return createClaims(ctx, r, age, builders.Schedule(r.Namespace, r.Namespace, spec{}), claims...)
	}
}

// withChild creates a ClusterSnapshotSchedule, its child in the selected namespace, and PVCs with the child's snapshots.
func withChild(template spec, claims ...pvc) do {
	return func(ctx context.Context, r *environment.Run) error {
		f, err := storeFleet(ctx, r, template)
		if err != nil {
			return err
		}
		child := builders.Schedule(r.Namespace, f.Name, f.Spec.Template.Spec)
		child.Labels = map[string]string{v1alpha1.LabelMapKey: r.Namespace, v1alpha1.LabelClusterSchedule: f.Name}
		child.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(f, v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
		if child, err = environment.Store(ctx, r, child, age); err != nil {
			return err
		}
		if err := createClaims(ctx, r, age, child, claims...); err != nil {
			return err
		}
		return selectNamespace(ctx, r)
	}
}

var (
	selectNamespace   = label(theNamespace, "backup", "gold")
	deselectNamespace = label(theNamespace, "backup", nil)
)

// givenForeign creates a schedule with the child's name, which is labeled as one of another namespace.
func givenForeign(ctx context.Context, r *environment.Run) error {
	s, err := storeSchedule(ctx, r, r.Namespace, age, spec{SnapshotTTL: "20d"})
	if err != nil {
		return err
	}
	if err := createClaims(ctx, r, age, s, series("data-0", 7, .5)); err != nil {
		return err
	}
	return r.Patch(ctx, s, `{"metadata":{"labels":{%q:"other",%q:%q}}}`, v1alpha1.LabelMapKey, v1alpha1.LabelClusterSchedule, r.Namespace)
}

// setMapKey gives it the map key of its namespace.
func setMapKey(ctx context.Context, r *environment.Run) error {
	return label(theChild, v1alpha1.LabelMapKey, r.Namespace)(ctx, r)
}

// hasMapKey expects that the child has the label of its namespace.
var hasMapKey = expectSchedule(func(o *v1alpha1.SnapshotSchedule) bool {
	return o.Labels[v1alpha1.LabelMapKey] == o.Namespace && o.Labels[v1alpha1.LabelClusterSchedule] == o.Name
}, "the child has not both labels")

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
	v := environment.Named(&snapshotv1.VolumeSnapshot{}, r.Namespace, "manual")
	v.Spec.Source.PersistentVolumeClaimName = ptr.To("manual")
	v.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "SnapshotSchedule", Name: child.Name, UID: child.UID,
	}}
	return r.Client.Create(ctx, v)
}

// childSettled expects that the child is the ClusterSnapshotSchedule's, has the template's spec, and has a settled status.
func childSettled(reason string) check {
	return all(settled(reason), expect(func(s state) bool {
		child := ours(s)
		if len(s.Fleets) == 0 || child == nil {
			return false
		}
		want := s.Fleets[0].Spec.Template.Spec
		want.Suspend = want.Suspend || reason == suspended
		return metav1.IsControlledBy(child, s.Fleets[0]) && reflect.DeepEqual(child.Spec, want) && child.Labels["tier"] == "gold"
	}, "there is no child of the ClusterSnapshotSchedule with the template's spec and labels"))
}

// selectsOne, selectsNone and detachedChild are the usual states of a ClusterSnapshotSchedule.
var (
	selectsOne    = fleetSettled(scheduled, 1, 1, 0)
	selectsNone   = fleetSettled(v1alpha1.ReasonNoMatchingNamespaces, 0, 0, 0)
	detachedChild = fleetSettled(v1alpha1.ReasonNoMatchingNamespaces, 0, 1, 1)
)

// fleetSettled expects that the status of the ClusterSnapshotSchedule is up to date and Ready has a reason, for so many namespaces,
// children, and detached children.
func fleetSettled(reason string, namespaces, children, detached int32) check {
	return func(s state) error {
		if len(s.Fleets) == 0 {
			return fmt.Errorf("there is no ClusterSnapshotSchedule")
		}
		f := s.Fleets[0]
		status := f.Status
		ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
		if status.ObservedGeneration != f.Generation || ready == nil || ready.Reason != reason {
			return fmt.Errorf("condition Ready of the ClusterSnapshotSchedule is %v, want reason %s, of generation %d", ready, reason,
				f.Generation)
		}
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
	return expectSchedule(func(o *v1alpha1.SnapshotSchedule) bool { return o.Generation >= n }, "the child has not reached generation %d", n)
}

// ofTeam expects a label that a user gave the child.
func ofTeam(team string) check {
	return expectSchedule(func(o *v1alpha1.SnapshotSchedule) bool { return o.Labels["team"] == team },
		"the child has not the label team=%s", team)
}

// tenants are the workloads in which a tenant works against a ClusterSnapshotSchedule.
var tenants = []Workload{
	{
		Name: "fleet-taken-over",
		What: "with one edit of the child, a tenant takes off its owner and labels, shortens interval and TTL, removes the delay and " +
			"confirms that: nothing is taken, nothing deleted, and all of it put back; then only owner and labels are taken off",
		Fleet:   true,
		Prepare: withChild(delayed("30d", "1h"), twoExpiring...),
		Steps: []Step{when(all(childSettled(suspended), recorded(1)), "take the child over", patch(theChild,
			`{"metadata":{"annotations":{%q:"2"},"ownerReferences":null,"labels":null},`+
				`"spec":{"suspend":false,"snapshotInterval":"1s","snapshotTTL":"1d","retention":{"editDelay":null}}}`,
			v1alpha1.AnnotationConfirmGeneration)),
			when(all(childSettled(suspended), generation(3), hasMapKey, selectsOne), "take owner and labels off",
				patch(theChild, `{"metadata":{"ownerReferences":null,"labels":null}}`)),
		},
		End: all(keepsTwoExpiring, childSettled(suspended), recorded(3), hasMapKey, selectsOne),
	},
	{
		Name: "fleet-creates-again",
		What: "a confirmed ClusterSnapshotSchedule selects a namespace in which an earlier child of its name left expired snapshots; the " +
			"new child adopts them, and deletes none in its first hour",
		Fleet: true,
		Prepare: inOrder(givenFleet(spec{Suspend: true, SnapshotTTL: "1d"}), confirm(theFleet, "1"),
			withoutSchedule(claim("data-0", orphan(72*hour), orphan(48*hour), orphan(hour)), claim("data-1", orphan(72*hour), orphan(hour)))),
		Steps: []Step{when(selectsNone, "select the namespace", selectNamespace)},
		End:   all(keepsTwoExpiring, recorded(1), pausedFor(v1alpha1.ReasonSnapshotsAdopted), selectsOne),
	},
	{
		// The operator may see the end of the confirmation later than that of the hold.
		Name:    "fleet-taken-back",
		What:    "a ClusterSnapshotSchedule's confirmation is taken back, and then the hold of an expired snapshot: it is kept for the delay",
		Fleet:   true,
		Prepare: inOrder(withChild(delayed("1d", "1h"), claim("data-0", held(72*hour), ready(hour))), confirm(theFleet, "1")),
		Steps: []Step{
			when(all(childSettled(suspended), recorded(1), selectsOne), "take the confirmation back",
				annotate(theFleet, v1alpha1.AnnotationConfirmGeneration, nil)),
			then("remove the hold", unhold("data-0-old-0")),
		},
		End: all(keeps("data-0", 0, 1), pausedFor(v1alpha1.ReasonSpecChanged), selectsOne),
	},
	{
		// A child that is being deleted takes no snapshots.
		Name: "fleet-child-hangs",
		What: "a tenant deletes the child, which hangs with a finalizer of theirs: the ClusterSnapshotSchedule is not Ready until it is " +
			"gone, and makes a new one",
		Fleet:   true,
		Prepare: withChild(orphaningTemplate, claim("data-0", orphan(7*hour), orphan(30*minute))),
		Steps: []Step{
			when(all(childSettled(suspended), selectsOne), "add a finalizer",
				patch(theChild, `{"metadata":{"finalizers":["tenant.example.com/mine"]}}`)),
			then("delete the child", remove(theChild)),
			when(fleetSettled(v1alpha1.ReasonSchedulesFailing, 1, 1, 0), "remove the finalizer",
				patch(theChild, `{"metadata":{"finalizers":null}}`)),
		},
		End: all(childSettled(suspended), hasReady(2, "data-0"), selectsOne),
	},
}
