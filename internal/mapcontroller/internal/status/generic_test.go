// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
)

// fitting is a parent of a type that has the generic status.
type fitting struct {
	appsv1.Deployment

	Status map[string]any `json:"status,omitempty"`
}

func TestSetGeneric(t *testing.T) {
	const old = `{"detached":{"pods":3},"inputs":{"secrets":{"total":9}},"observedGeneration":1,"other":"kept","outputs":{"pods":{"total":8}}}`
	totals := map[string]int{"inputs.secrets.total": 0, "outputs.pods.total": 2, "outputs.pods.ready": 1}
	for name, tc := range map[string]struct {
		summary Summary
		want    string
	}{
		"all is known": {
			Summary{Totals: totals, Settled: true},
			`{"inputs":{"secrets":{"total":0}},"observedGeneration":2,"other":"kept","outputs":{"pods":{"ready":1,"total":2}}}`,
		},
		"nothing is known":  {Summary{}, old},
		"a kind is missing": {Summary{Missing: []string{"pods"}}, old},
		"an invalid spec": {
			Summary{Totals: totals, Invalid: errors.New("no")},
			`{"observedGeneration":1,"other":"kept","outputs":{"pods":{"ready":1,"total":2}}}`,
		},
	} {
		var status map[string]any
		if err := json.Unmarshal([]byte(old), &status); err != nil {
			t.Fatal(err)
		}
		generic := &unstructured.Unstructured{Object: map[string]any{"status": status}}
		generic.SetKind("Generic")
		generic.SetGeneration(2)
		typed := &fitting{}
		typed.Generation = 2
		_ = json.Unmarshal([]byte(old), &typed.Status)
		for kind, parent := range map[string]client.Object{"generic": generic, "typed": typed} {
			if err := SetGeneric(parent, tc.summary); err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(typed.Status)
			if kind == "generic" {
				got, _ = json.Marshal(generic.Object["status"])
			}
			if string(got) != tc.want {
				t.Errorf("%s, %s: got %s", name, kind, got)
			}
		}
	}
}

func TestSetGenericNamesAStatusThatDoesNotFit(t *testing.T) {
	if err := SetGeneric(&unstructured.Unstructured{Object: map[string]any{"status": "text"}}, Summary{Settled: true}); err == nil {
		t.Error("no error")
	}
	if d := fixture.Parent(); SetGeneric(d, Summary{Settled: true, Totals: map[string]int{}}) != nil || d.Status.ObservedGeneration != d.Generation {
		t.Errorf("observed generation %d of %d", d.Status.ObservedGeneration, d.Generation)
	}
}
