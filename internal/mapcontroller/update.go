// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// AppliedAnnotation holds a hash of what was last applied to an output that is
// updated in place: a field that is no longer desired shows in nothing else.
const AppliedAnnotation = "mapcontroller.dev/applied"

// update applies the desired output over the observed one, if they differ.
func (w *writer[P, S]) update(ctx context.Context, have, want client.Object) error {
	if !w.outputKind(want).UpdateInPlace || have.GetDeletionTimestamp() != nil {
		return nil
	}
	want = w.tagged(want)
	if err := stamp(want); err != nil {
		return err
	}
	// An unset field is not compared, but an unset time would be.
	want.SetCreationTimestamp(have.GetCreationTimestamp())
	if have.GetAnnotations()[AppliedAnnotation] == want.GetAnnotations()[AppliedAnnotation] &&
		equality.Semantic.DeepDerivative(want, have) {
		return nil
	}
	live, err := w.ownAppliedFields(ctx, have)
	if err != nil {
		return err
	}
	apply, err := w.applyConfiguration(live, want)
	if err != nil {
		return err
	}
	return w.client.Apply(ctx, apply, client.FieldOwner(w.Name), client.ForceOwnership)
}

// ownAppliedFields turns the fields that our create set into applied ones: a
// field that is left out of a later apply would stay otherwise. It returns the
// output as it is on the API server, if it is the parent's still.
func (w *writer[P, S]) ownAppliedFields(ctx context.Context, have client.Object) (client.Object, error) {
	live := emptyLike(have)
	err := w.live.Get(ctx, client.ObjectKeyFromObject(have), live)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil || live.GetUID() != have.GetUID() || live.GetDeletionTimestamp() != nil ||
		len(w.Tags.claim(w.parent, []client.Object{live}).owned) == 0 {
		return nil, errMoved
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(w.Name), w.Name)
	if err != nil || len(patch) == 0 {
		return live, err
	}
	return live, w.client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch))
}

// applyConfiguration holds the apply to the very object, and the version, that
// was looked at: else it would take back what was released meanwhile.
func (w *writer[P, S]) applyConfiguration(live, want client.Object) (runtime.ApplyConfiguration, error) {
	gvk, err := apiutil.GVKForObject(want, w.scheme)
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	delete(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	u.SetUID(live.GetUID())
	u.SetResourceVersion(live.GetResourceVersion())
	u.SetOwnerReferences([]metav1.OwnerReference{*metav1.GetControllerOf(live)})
	return client.ApplyConfigurationFromUnstructured(u), nil
}

// stamp puts the hash of a desired output on it. What the API server sets is
// taken off first: a Map may return a changed copy of what it observed.
func stamp(want client.Object) error {
	want.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	want.SetUID("")
	want.SetResourceVersion("")
	want.SetGeneration(0)
	want.SetCreationTimestamp(metav1.Time{})
	want.SetOwnerReferences(nil)
	want.SetManagedFields(nil)
	annotations := want.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, AppliedAnnotation)
	want.SetAnnotations(annotations)

	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return err
	}
	delete(content, "status")
	encoded, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("hash %s: %w", want.GetName(), err)
	}
	h := fnv.New64a()
	_, _ = h.Write(encoded)
	annotations[AppliedAnnotation] = strconv.FormatUint(h.Sum64(), 36)
	want.SetAnnotations(annotations)
	return nil
}
