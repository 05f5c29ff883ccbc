// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// root is the root of the repository.
const root = "../.."

var complete = release{"1.2.3", "example.com/s:v1.2.3", "https://example.com/s"}

func kustomize(t *testing.T) []object {
	t.Helper()
	cmd := exec.Command("go", "tool", "-modfile=hack/tools/kustomize.mod", "kustomize", "build", "config/manifests")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	all, err := read(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The bundle and config/default must give the operator the same permissions. The validator of operator-framework cannot know them.
func TestBundleHasEveryRuleAndEveryObject(t *testing.T) {
	objects := kustomize(t)
	files, err := build(objects, complete)
	if err != nil {
		t.Fatal(err)
	}
	text := files["manifests/snapshotschedule.clusterserviceversion.yaml"]
	csv := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &csv.Object); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		name := o.GetName()
		switch kind := o.GetKind(); kind {
		case "ClusterRole", "Role":
			rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
			field := "clusterPermissions"
			if kind == "Role" {
				field = "permissions"
			}
			permissions, _, _ := unstructured.NestedSlice(csv.Object, "spec", "install", "spec", field)
			if shipped := files["manifests/"+name+".clusterrole.yaml"]; shipped != "" && !strings.HasSuffix(name, "manager-role") {
				continue
			}
			granted, _ := permissions[0].(map[string]any)["rules"].([]any)
			for _, rule := range rules {
				if !slices.ContainsFunc(granted, func(got any) bool { return reflect.DeepEqual(got, rule) }) {
					t.Errorf("%s: the bundle lacks the rule\n%v", name, rule)
				}
			}
		case "CustomResourceDefinition", "Service":
			if files["manifests/"+name+"."+strings.ToLower(kind)+".yaml"] == "" {
				t.Errorf("the bundle lacks %s %s", kind, name)
			}
		case "SnapshotSchedule":
			if !strings.Contains(csv.GetAnnotations()["alm-examples"], `"`+name+`"`) {
				t.Errorf("%s is not an example", name)
			}
		}
	}
	for _, want := range []string{"name: snapshotschedule.v1.2.3", "image: example.com/s:v1.2.3", "serviceAccountName: snapshotschedule-controller-manager"} {
		if !strings.Contains(text, want) {
			t.Errorf("the ClusterServiceVersion has no %q", want)
		}
	}
	for path, text := range files {
		if strings.Contains(text, "controller:latest") || strings.Contains(text, "snapshotschedule-system") {
			t.Errorf("%s has a namespace or an image of config/default", path)
		}
	}
}

func TestBuildRejectsWhatItCannotPlace(t *testing.T) {
	objects := kustomize(t)
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "x"}}}
	for name, tc := range map[string]struct {
		objects []object
		release release
	}{
		"no place":     {append(slices.Clone(objects), secret), complete},
		"kustomize":    {nil, complete},
		"not a semant": {objects, release{"v1", "a", "https://e.com"}},
		"no image":     {objects, release{"1.2.3", "", "https://e.com"}},
		"https URL":    {objects, release{"1.2.3", "a", ""}},
	} {
		if _, err := build(tc.objects, tc.release); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
