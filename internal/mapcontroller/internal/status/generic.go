// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SetGeneric writes the proposal's aggregate into a parent's status: observedGeneration,
// inputs, outputs and detached. While the spec is invalid, observedGeneration does not advance. It
// returns an error if the parent's type does not fit.
func SetGeneric(parent client.Object, s Summary) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(parent)
	if err == nil {
		err = setGeneric(content, parent.GetGeneration(), s)
	}
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, parent)
	}
	return err
}

func setGeneric(parent map[string]any, generation int64, s Summary) error {
	set := func(n int64, path ...string) error {
		return unstructured.SetNestedField(parent, n, append([]string{"status"}, path...)...)
	}
	if s.Settled && s.Invalid == nil {
		if err := set(generation, "observedGeneration"); err != nil {
			return err
		}
	}
	if s.Totals == nil && s.Invalid == nil {
		return nil // what the API server has stays
	}
	for _, field := range []string{inputsField, outputsField, detachedField} {
		unstructured.RemoveNestedField(parent, "status", field)
	}
	for path, n := range s.Totals {
		fields := strings.Split(path, ".")
		if s.Invalid != nil && fields[0] != outputsField {
			continue
		}
		if err := set(int64(n), fields...); err != nil {
			return err
		}
	}
	return nil
}
