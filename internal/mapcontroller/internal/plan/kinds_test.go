// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

func generic(spec, status any) client.Object {
	return &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": status}}
}

func TestSameSpec(t *testing.T) {
	typed := func(replicas, ready int32) client.Object {
		return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas}, Status: appsv1.DeploymentStatus{ReadyReplicas: ready}}
	}
	for name, tc := range map[string]struct {
		a, b client.Object
		want bool
	}{
		"equal":              {typed(1, 1), typed(1, 2), true},
		"another":            {typed(1, 1), typed(2, 1), false},
		"generic, equal":     {generic(map[string]any{"a": "b"}, "c"), generic(map[string]any{"a": "b"}, "d"), true},
		"generic, another":   {generic(map[string]any{"a": "b"}, "c"), generic(map[string]any{"a": "c"}, "c"), false},
		"of metadata only":   {&metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}, true},
		"of a kind without":  {&corev1.Secret{}, &corev1.Secret{Data: map[string][]byte{"a": nil}}, true},
		"generic and absent": {generic(nil, nil), generic(nil, "x"), true},
	} {
		if got := plan.SameSpec(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestStatusConditions(t *testing.T) {
	want := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "x"}, {Type: "Other"}}
	for name, tc := range map[string]struct {
		o    client.Object
		want []metav1.Condition
	}{
		"typed": {&corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True", Reason: "x"}, {Type: "Other"}}}}, want},
		"generic": {generic(nil, map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "reason": "x"}, map[string]any{"type": "Other"},
		}}), want},
		"none":                           {o: &corev1.Pod{}},
		"a kind without a status":        {o: &corev1.Secret{}},
		"a status without conditions":    {o: &corev1.ResourceQuota{}},
		"generic, none":                  {o: generic(nil, nil)},
		"generic, a text":                {o: generic(nil, "x")},
		"generic, conditions of numbers": {generic(nil, map[string]any{"conditions": []any{int64(1)}}), []metav1.Condition{{}}},
		"of metadata only":               {o: &metav1.PartialObjectMetadata{}},
	} {
		if got := plan.StatusConditions(tc.o); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
