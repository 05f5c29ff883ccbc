// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// SetGeneric writes the proposal's aggregate into a parent's status: observedGeneration,
// inputs, outputs and detached. While the spec is invalid, condition Stalled says why, where the
// type has conditions, and observedGeneration does not advance. It returns an error if the
// parent's type does not fit.
func SetGeneric(now time.Time, parent client.Object, s Summary) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(parent)
	if err == nil {
		err = setGeneric(now, content, parent.GetGeneration(), s)
	}
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, parent)
	}
	return err
}

// The condition of a parent with an invalid spec, by the conventions of kstatus, and its reason.
const conditionStalled, reasonInvalidSpec = "Stalled", "InvalidSpec"

func setGeneric(now time.Time, parent map[string]any, generation int64, s Summary) error {
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
	return setStalled(now, parent, generation, s.Invalid)
}

func setStalled(now time.Time, parent map[string]any, generation int64, invalid error) error {
	var has struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions,omitempty"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(parent, &has); err != nil {
		return err
	}
	if conditions := &has.Status.Conditions; invalid == nil {
		if !meta.RemoveStatusCondition(conditions, conditionStalled) {
			return nil
		}
	} else {
		meta.SetStatusCondition(conditions, metav1.Condition{
			Type: conditionStalled, Status: metav1.ConditionTrue, Reason: reasonInvalidSpec, ObservedGeneration: generation,
			Message: shortened(invalid.Error()), LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
		})
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&has)
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(content, "status", conditionsField)
	if err == nil {
		err = unstructured.SetNestedSlice(parent, conditions, "status", conditionsField)
	}
	return err
}

// shortened bounds a text that may repeat what users wrote.
func shortened(text string) string {
	const longest = 1024
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest-3], "") + "..."
}

// KeptGeneric returns an error if the API server did not store what SetGeneric wrote: it drops what the schema of the
// parent's CRD does not have. Conditions are not required.
func KeptGeneric(written, stored client.Object) error {
	var want, got struct{ Status map[string]any }
	if err := errors.Join(plan.Fields(written, &want), plan.Fields(stored, &got)); err != nil {
		return err
	}
	var lost []string
	for _, field := range []string{"observedGeneration", inputsField, outputsField, detachedField} {
		if want.Status[field] != nil && !equality.Semantic.DeepEqual(want.Status[field], got.Status[field]) {
			lost = append(lost, "status."+field)
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("the API server did not store %s: the schema of the CRD must have it", strings.Join(lost, ", "))
	}
	return nil
}
