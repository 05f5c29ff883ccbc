// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

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
		"an invalid spec": {Summary{Totals: totals, Invalid: errors.New("no")}, `{"conditions":[{"lastTransitionTime":"2026-01-02T03:04:05Z","message":"no","observedGeneration":2,` +
			`"reason":"InvalidSpec","status":"True","type":"Stalled"}],"observedGeneration":1,"other":"kept","outputs":{"pods":{"ready":1,"total":2}}}`},
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
			if err := SetGeneric(now, parent, tc.summary); err != nil {
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
	if err := SetGeneric(now, &unstructured.Unstructured{Object: map[string]any{"status": "text"}}, Summary{Settled: true}); err == nil {
		t.Error("no error")
	}
	if d := fixture.Parent(); SetGeneric(now, d, Summary{Settled: true, Totals: map[string]int{}}) != nil || d.Status.ObservedGeneration != d.Generation {
		t.Errorf("observed generation %d of %d", d.Status.ObservedGeneration, d.Generation)
	}
}

func TestSetGenericEndsStalled(t *testing.T) {
	parent := &unstructured.Unstructured{Object: map[string]any{"kind": "Generic"}}
	for _, invalid := range []error{errors.New(strings.Repeat("no such tier ", 200)), nil} {
		if err := SetGeneric(now, parent, Summary{Totals: map[string]int{"outputs.pods.total": 0}, Settled: true, Invalid: invalid}); err != nil {
			t.Fatal(err)
		}
		conditions, _, _ := unstructured.NestedSlice(parent.Object, "status", "conditions")
		if (len(conditions) == 1) != (invalid != nil) {
			t.Errorf("%v: conditions %v", invalid, conditions)
		}
		if len(conditions) == 1 && len(conditions[0].(map[string]any)["message"].(string)) > 1024 {
			t.Error("the message has no limit")
		}
	}
}

// What the schema of a CRD does not have is dropped without a word.
func TestKeptGeneric(t *testing.T) {
	status := func(fields string) client.Object {
		o := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(`{"kind":"Generic","status":{`+fields+`}}`), &o.Object); err != nil {
			t.Fatal(err)
		}
		return o
	}
	const all = `"observedGeneration":1,"inputs":{"secrets":{"total":0}},"outputs":{"pods":{"total":1,"ready":1}}`
	for name, test := range map[string]struct{ written, stored, want string }{
		"all":                  {written: all, stored: all + `,"conditions":[]`},
		"conditions":           {written: all + `,"conditions":[{"type":"Stalled"}]`, stored: all},
		"no counts":            {written: all, stored: `"observedGeneration":1`, want: "status.inputs, status.outputs"},
		"a count":              {written: all, stored: `"observedGeneration":1,"inputs":{"secrets":{"total":0}},"outputs":{"pods":{"total":1}}`, want: "status.outputs"},
		"nothing was computed": {written: "", stored: all},
	} {
		err := KeptGeneric(status(test.written), status(test.stored))
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
