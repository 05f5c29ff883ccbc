// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// root is the root of the repository.
const root = "../../../.."

var release = Release{Version: "1.2.3", Image: "example.com/s:v1.2.3", Repository: "https://example.com/s"}

func kustomize(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	cmd := exec.Command("go", "tool", "-modfile=hack/tools/kustomize.mod", "kustomize", "build", "config/manifests")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	all, err := Read(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The bundle and config/default must give the operator the same permissions. The validator of operator-framework cannot know them.
func TestBundleHasEveryRuleAndEveryObject(t *testing.T) {
	objects := kustomize(t)
	files, err := Build(objects, release)
	if err != nil {
		t.Fatal(err)
	}
	csv := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(files["manifests/snapshotschedule.clusterserviceversion.yaml"]), &csv.Object); err != nil {
		t.Fatal(err)
	}
	text := files["manifests/snapshotschedule.clusterserviceversion.yaml"]
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
			for _, r := range rules {
				want, _ := yaml.Marshal(r)
				if !slices.ContainsFunc(rulesOf(permissions), func(got any) bool { return string(marshal(t, got)) == string(want) }) {
					t.Errorf("%s: the bundle lacks the rule\n%s", name, want)
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

func rulesOf(permissions []any) []any {
	var rules []any
	for _, p := range permissions {
		more, _ := p.(map[string]any)["rules"].([]any)
		rules = append(rules, more...)
	}
	return rules
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestBuildRejectsWhatItCannotPlace(t *testing.T) {
	objects := kustomize(t)
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "x"}}}
	for name, tc := range map[string]struct {
		objects []*unstructured.Unstructured
		release Release
	}{
		"no place":     {append(slices.Clone(objects), secret), release},
		"kustomize":    {nil, release},
		"not a semant": {objects, Release{Version: "v1", Image: "a", Repository: "https://e.com"}},
		"no image":     {objects, Release{Version: "1.2.3", Repository: "https://e.com"}},
		"https URL":    {objects, Release{Version: "1.2.3", Image: "a"}},
	} {
		if _, err := Build(tc.objects, tc.release); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWriteKeepsAFolderThatIsNotABundle(t *testing.T) {
	folder := t.TempDir()
	kept := filepath.Join(folder, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(folder, map[string]string{"bundle.Dockerfile": "x"}); err == nil {
		t.Error("the folder was replaced")
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
