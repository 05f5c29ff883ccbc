/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
	want.SetNamespace(have.GetNamespace())
	hash, err := hashOf(want)
	if err != nil {
		return err
	}
	if have.GetAnnotations()[AppliedAnnotation] == hash && equality.Semantic.DeepDerivative(want, have) {
		return nil
	}
	if err := w.ownAppliedFields(ctx, have); err != nil {
		return err
	}
	apply, err := w.applyConfiguration(have, want, hash)
	if err != nil {
		return err
	}
	return w.client.Apply(ctx, apply, client.FieldOwner(w.Name), client.ForceOwnership)
}

// ownAppliedFields turns the fields that our create set into applied ones: a
// field that is left out of a later apply would stay otherwise.
func (w *writer[P, S]) ownAppliedFields(ctx context.Context, have client.Object) error {
	live := emptyLike(have)
	if err := w.live.Get(ctx, client.ObjectKeyFromObject(have), live); err != nil {
		return err
	}
	if live.GetUID() != have.GetUID() {
		return errMoved
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(w.Name), w.Name)
	if err != nil || len(patch) == 0 {
		return err
	}
	return w.client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch))
}

// applyConfiguration names the UID, so that an object that was made anew under
// the name is left alone.
func (w *writer[P, S]) applyConfiguration(have, want client.Object, hash string) (runtime.ApplyConfiguration, error) {
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
	u.SetUID(have.GetUID())
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[w.Tags.MapKey], labels[w.Tags.Parent] = w.req.MapKey, w.parent.GetName()
	u.SetLabels(labels)
	u.SetOwnerReferences([]metav1.OwnerReference{*metav1.GetControllerOf(have)})
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[AppliedAnnotation] = hash
	u.SetAnnotations(annotations)
	return client.ApplyConfigurationFromUnstructured(u), nil
}

func hashOf(o client.Object) (string, error) {
	content, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("hash %s: %w", o.GetName(), err)
	}
	h := fnv.New64a()
	_, _ = h.Write(content)
	return strconv.FormatUint(h.Sum64(), 36), nil
}
