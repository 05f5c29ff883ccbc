// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/informer"
)

// AppliedAnnotation holds a hash of what was last applied to an output that is
// updated in place. Nothing else shows that a field is no longer desired.
const AppliedAnnotation = "mapcontroller.dev/applied"

// updateNeeded returns whether an observed output differs from the desired one,
// which carries its hash.
func updateNeeded(have, want client.Object) bool {
	return have.GetAnnotations()[AppliedAnnotation] != want.GetAnnotations()[AppliedAnnotation] || Differs(have, want)
}

// setAppliedHash puts the hash of a desired output on it. What the API server
// sets is cleared first: Map may return a changed copy of what it observed.
func setAppliedHash(want client.Object) error {
	gvk := want.GetObjectKind().GroupVersionKind()
	if !informer.IsGeneric(want) {
		want.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
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
		return fmt.Errorf("hash %s %s: %w", gvk.Kind, want.GetName(), err)
	}
	h := fnv.New64a()
	_, _ = h.Write(encoded)
	annotations[AppliedAnnotation] = strconv.FormatUint(h.Sum64(), 36)
	want.SetAnnotations(annotations)
	return nil
}
