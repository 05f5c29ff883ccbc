// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// update applies the desired output over the observed one.
func (r *run) update(ctx context.Context, u plan.Update) error {
	live, err := r.ownAppliedFields(ctx, u.Observed)
	if err != nil {
		return err
	}
	apply, err := r.applyConfiguration(live, u.Desired)
	if err != nil {
		return err
	}
	return r.Client.Apply(ctx, apply, client.FieldOwner(r.Name), client.ForceOwnership)
}

// ownAppliedFields turns the fields that our create set into applied ones:
// otherwise a field that a later apply leaves out would stay. It returns the
// output as the API server holds it, if it is still the parent's.
func (r *run) ownAppliedFields(ctx context.Context, have client.Object) (client.Object, error) {
	live := plan.EmptyLike(have)
	err := r.Guard.Live.Get(ctx, client.ObjectKeyFromObject(have), live)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil || live.GetUID() != have.GetUID() || live.GetDeletionTimestamp() != nil || !r.Rules.Tags.Owns(r.parent, live) {
		return nil, guard.ErrChanged
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(r.Name), r.Name)
	if err != nil || len(patch) == 0 {
		return live, err
	}
	return live, r.Client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch))
}

// applyConfiguration holds the apply to the UID and version that were read:
// otherwise it would take back an output that was released meanwhile.
func (r *run) applyConfiguration(live, want client.Object) (runtime.ApplyConfiguration, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(r.Rules.KindOf(want))
	delete(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	u.SetUID(live.GetUID())
	u.SetResourceVersion(live.GetResourceVersion())
	u.SetOwnerReferences([]metav1.OwnerReference{*metav1.GetControllerOf(live)})
	return client.ApplyConfigurationFromUnstructured(u), nil
}
