// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	luajson "layeh.com/gopher-json"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

var actionNames = []string{"confirm", "resume", "snapshot-now", "suspend"}

// offers are the actions that are offered for the schedules of which not only snapshot-now and suspend are.
var offers = map[string][]string{
	"spec-changed":                 {"confirm", "snapshot-now", "suspend"},
	"snapshots-adopted":            {"confirm", "snapshot-now", "suspend"},
	"suspended":                    {"resume", "snapshot-now"},
	"invalid-spec":                 {"suspend"},
	"fleet-invalid-spec":           {"suspend"},
	"fleet-recovery-points-old":    {"snapshot-now", "suspend"},
	"fleet-no-matching-namespaces": {"snapshot-now", "suspend"},
}

// actionable returns the schedules with a spec, of which the integration tests keep nothing. Its empty and its whole values are what Lua
// may lose.
func actionable(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	all := schedules(t)
	for name, s := range all {
		spec := map[string]any{
			"selector": map[string]any{}, "storageClassNames": []any{"fast"}, "snapshotInterval": "1h",
			"retention": map[string]any{"maxCount": int64(100)},
		}
		if name == "suspended" {
			spec["suspend"] = true
		}
		if s.GetKind() == "ClusterSnapshotSchedule" {
			spec = map[string]any{"namespaceSelector": map[string]any{}, "template": map[string]any{"spec": spec}}
		}
		s.Object["spec"] = spec
	}
	return all
}

// specOf returns the spec of which suspend is changed.
func specOf(s *unstructured.Unstructured) map[string]any {
	spec := s.Object["spec"].(map[string]any)
	if template, ok := spec["template"].(map[string]any); ok {
		spec = template["spec"].(map[string]any)
	}
	return spec
}

// edited makes a schedule one whose latest edit, the second generation, is observed.
func edited(t *testing.T, s *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	s.SetGeneration(2)
	must(t, unstructured.SetNestedField(s.Object, int64(2), "status", "observedGeneration"))
	return s
}

func offered(t *testing.T, s *unstructured.Unstructured) []string {
	t.Helper()
	result, err := execute(t, scriptOf(t, s, "discovery.lua"), s)
	must(t, err)
	text, err := luajson.Encode(result)
	must(t, err)
	if string(text) == "[]" { // of an empty table
		return nil
	}
	actions := map[string]struct{ DisplayName, IconClass string }{}
	must(t, json.Unmarshal(text, &actions))
	for name, action := range actions {
		if action.DisplayName == "" || !strings.HasPrefix(action.IconClass, "fa fa-fw fa-") {
			t.Errorf("%s of a %s is shown as %v", name, s.GetKind(), action)
		}
	}
	return slices.Sorted(maps.Keys(actions))
}

func scriptOf(t *testing.T, s *unstructured.Unstructured, path string) string {
	t.Helper()
	return read(t, filepath.Join(checks, s.GetKind(), "actions", path))
}

// run returns what an action makes of a schedule.
func run(t *testing.T, action string, s *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	t.Helper()
	result, err := execute(t, scriptOf(t, s, action+"/action.lua"), s)
	if err != nil {
		return nil, err
	}
	text, err := luajson.Encode(result)
	must(t, err)
	changed := &unstructured.Unstructured{}
	must(t, changed.UnmarshalJSON(text))
	restoreEmpty(changed.Object, s.Object)
	return changed, nil
}

// restoreEmpty does what Argo CD does with an empty table, which Lua's encoder takes for a list (cleanReturnedObj there).
func restoreEmpty(changed, before map[string]any) {
	for key, value := range changed {
		old, ok := before[key].(map[string]any)
		if !ok {
			continue
		}
		switch value := value.(type) {
		case map[string]any:
			restoreEmpty(value, old)
		case []any:
			if len(value) == 0 {
				changed[key] = old
			}
		}
	}
}

func TestArgoCDOffersWhatMakesSense(t *testing.T) {
	for name, s := range actionable(t) {
		want := offers[name]
		if want == nil {
			want = []string{"snapshot-now", "suspend"}
		}
		if got := offered(t, s); !slices.Equal(got, want) {
			t.Errorf("%s: it offers %q, want %q", name, got, want)
		}
		s.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-02T03:04:05Z"
		if got := offered(t, s); got != nil {
			t.Errorf("%s, being deleted: it offers %q", name, got)
		}
	}
}

func TestArgoCDOffersToConfirmAnEditOfAClusterSnapshotSchedule(t *testing.T) {
	s := edited(t, actionable(t)["fleet-scheduled"])
	if got := offered(t, s); !slices.Contains(got, "confirm") {
		t.Errorf("edited: it offers %q", got)
	}
	specOf(s)["suspend"] = true
	if got := offered(t, s); !slices.Contains(got, "resume") || slices.Contains(got, "suspend") {
		t.Errorf("suspended: it offers %q", got)
	}
	s.SetAnnotations(map[string]string{v1alpha1.AnnotationConfirmGeneration: "2"})
	if got := offered(t, s); slices.Contains(got, "confirm") {
		t.Errorf("confirmed: it offers %q", got)
	}
}

// children returns a SnapshotSchedule that waits for a confirmation, once as a child and once as a child whose owner was taken off.
func children(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	owned, adrift := actionable(t)["spec-changed"], actionable(t)["spec-changed"]
	must(t, unstructured.SetNestedSlice(owned.Object, []any{map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ClusterSnapshotSchedule", "name": "gold", "uid": "g", "controller": true,
	}}, "metadata", "ownerReferences"))
	must(t, unstructured.SetNestedField(adrift.Object, "g", "status", "retention", "clusterSchedule"))
	return map[string]*unstructured.Unstructured{"owned": owned, "its owner was taken off": adrift}
}

// The API of Argo CD runs actions that are not offered, too.
func TestActionsOnChildrenAreRefused(t *testing.T) {
	for name, s := range children(t) {
		if got := offered(t, s); got != nil {
			t.Errorf("%s: it offers %q", name, got)
		}
		for _, action := range actionNames {
			if got, err := run(t, action, s); err == nil || !strings.Contains(err.Error(), "run the action there") {
				t.Errorf("%s: %s made %v, %v", name, action, got, err)
			}
		}
	}
}

func TestActionsAreRefusedWhereTheyMakeNoSense(t *testing.T) {
	for name, refusals := range map[string]map[string]string{
		"scheduled":               {"confirm": "nothing waits"},
		"new":                     {"confirm": "nothing waits"},
		"clock-skew":              {"confirm": "nothing waits"},
		"edited-and-not-observed": {"confirm": "nothing waits"},
		"invalid-spec":            {"confirm": "nothing waits", "snapshot-now": "the spec is invalid: spec.jitter"},
		"fleet-new":               {"confirm": "no edit waits"},
		"fleet-scheduled":         {"confirm": "no edit waits"},
		"fleet-invalid-spec":      {"snapshot-now": "the spec is invalid"},
	} {
		for action, message := range refusals {
			if got, err := run(t, action, actionable(t)[name]); err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("%s: %s made %v, %v", name, action, got, err)
			}
		}
	}
	waits := actionable(t)["spec-changed"]
	waits.SetGeneration(3)
	fleet := edited(t, actionable(t)["fleet-invalid-spec"])
	for s, message := range map[*unstructured.Unstructured]string{waits: "of generation 3", fleet: "nothing is deleted while the spec is invalid"} {
		if got, err := run(t, "confirm", s); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("confirm made %v, %v", got, err)
		}
	}
}

func TestActionsChangeNothingElse(t *testing.T) {
	for _, kind := range kinds {
		example := func() *unstructured.Unstructured {
			if kind == "SnapshotSchedule" {
				return actionable(t)["spec-changed"]
			}
			return edited(t, actionable(t)["fleet-scheduled"])
		}
		for action, change := range map[string]func(want *unstructured.Unstructured){
			"confirm": func(want *unstructured.Unstructured) { annotate(want, v1alpha1.AnnotationConfirmGeneration, "2") },
			"suspend": func(want *unstructured.Unstructured) { specOf(want)["suspend"] = true },
			"resume":  func(*unstructured.Unstructured) {}, // of what is not suspended
		} {
			requireChange(t, action, example(), change)
		}
		other := example()
		annotate(other, "example.com/a", "b")
		specOf(other)["suspend"] = true
		requireChange(t, "resume", other, func(want *unstructured.Unstructured) { specOf(want)["suspend"] = false })
		requireChange(t, "suspend", other, func(*unstructured.Unstructured) {})
		requireChange(t, "confirm", other, func(want *unstructured.Unstructured) { annotate(want, v1alpha1.AnnotationConfirmGeneration, "2") })
	}
}

func annotate(s *unstructured.Unstructured, key, value string) {
	annotations := s.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	s.SetAnnotations(annotations)
}

// requireChange checks what an action makes of a schedule, to the last field.
func requireChange(t *testing.T, action string, s *unstructured.Unstructured, change func(want *unstructured.Unstructured)) {
	t.Helper()
	got, err := run(t, action, s)
	must(t, err)
	want := s.DeepCopy()
	if change(want); !reflect.DeepEqual(got.Object, want.Object) {
		t.Errorf("%s of a %s made\n%v\nwant\n%v", action, s.GetKind(), got.Object, want.Object)
	}
}

// The request of a schedule that is suspended, or whose status is not written yet, counts as well.
func TestSnapshotNowRequestsOneOfThisSecond(t *testing.T) {
	for _, name := range []string{"scheduled", "suspended", "new", "fleet-scheduled"} {
		s := actionable(t)[name]
		annotate(s, v1alpha1.AnnotationRequestedAt, "2026-01-02T03:04:05Z data-0")
		before := time.Now().Truncate(time.Second)
		got, err := run(t, "snapshot-now", s)
		must(t, err)
		request, err := v1alpha1.RequestOf(got.GetAnnotations())
		must(t, err)
		if request.At.Before(before) || request.At.After(time.Now()) || len(request.Claims) > 0 {
			t.Errorf("%s: it requests %v", name, request)
		}
		want := s.DeepCopy()
		annotate(want, v1alpha1.AnnotationRequestedAt, request.String())
		if !reflect.DeepEqual(got.Object, want.Object) {
			t.Errorf("%s: it made\n%v\nwant\n%v", name, got.Object, want.Object)
		}
	}
}

// The ConfigMap has the scripts of a kind in one value.
func TestTheConfigMapHasEveryScript(t *testing.T) {
	type definition struct {
		Name   string `json:"name"`
		Action string `json:"action.lua"`
	}
	type actions struct {
		Discovery   string       `json:"discovery.lua"`
		Definitions []definition `json:"definitions"`
	}
	kustomization := read(t, "config/gitops/argo-cd/kustomization.yaml")
	for _, kind := range kinds {
		s := &unstructured.Unstructured{}
		s.SetKind(kind)
		want := actions{Discovery: scriptOf(t, s, "discovery.lua")}
		for _, name := range actionNames {
			want.Definitions = append(want.Definitions, definition{Name: name, Action: scriptOf(t, s, name+"/action.lua")})
		}
		text, err := yaml.Marshal(want)
		must(t, err)
		file := filepath.Join(root, checks, kind, "actions.yaml")
		if os.Getenv("UPDATE_ACTIONS") != "" {
			must(t, os.WriteFile(file, text, 0o644))
		}
		got, err := os.ReadFile(file)
		must(t, err)
		if string(got) != string(text) {
			t.Errorf("%s is out of step: UPDATE_ACTIONS=1 writes it", file)
		}
		dir := "resource_customizations/snapshots.mapcontroller.dev/" + kind
		for setting, file := range map[string]string{"health": "health.lua", "actions": "actions.yaml"} {
			line := "\n  - resource.customizations." + setting + ".snapshots.mapcontroller.dev_" + kind + "=" + dir + "/" + file + "\n"
			if !strings.Contains(kustomization, line) {
				t.Errorf("the kustomization has no line %s", line)
			}
		}
	}
}
