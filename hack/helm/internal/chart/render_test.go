// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// root is the root of the repository.
const root = "../../../.."

var release = Release{Version: "1.2.3", Image: "controller:latest", Repository: "https://example.com/s", Docs: docs}

// kustomize builds a folder of the repository.
func kustomize(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	cmd := exec.Command("go", "tool", "-modfile=hack/tools/kustomize.mod", "kustomize", "build", folder)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, &stderr)
	}
	all, err := Read(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// buildChart builds the chart of the repository and returns its folder.
func buildChart(t *testing.T) string {
	t.Helper()
	files, err := Build(kustomizeOnce(t), release)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), Name)
	if err := Write(folder, files); err != nil {
		t.Fatal(err)
	}
	return folder
}

// install is a helm install.
type install struct{ name, namespace, values string }

// likeKustomize results in the same names and namespace as kustomize.
var likeKustomize = install{name: Name, namespace: namespace}

func (i install) with(values string) install {
	i.values = values
	return i
}

// objects returns the objects that Helm applies.
func (i install) objects(folder string) ([]*unstructured.Unstructured, error) {
	files, err := i.renderFiles(folder)
	if err != nil {
		return nil, err
	}
	var all strings.Builder
	for path, text := range files {
		if strings.HasSuffix(path, ".yaml") {
			all.WriteString("\n---\n" + text)
		}
	}
	return Read(strings.NewReader(all.String()))
}

func (i install) renderFiles(folder string) (map[string]string, error) {
	c, err := loader.LoadDir(folder)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(i.values), &values); err != nil {
		return nil, fmt.Errorf("%w in\n%s", err, i.values)
	}
	release := common.ReleaseOptions{Name: i.name, Namespace: i.namespace, Revision: 1, IsInstall: true}
	renderValues, err := util.ToRenderValues(c, values, release, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, renderValues)
}

// render returns the objects of a release by kind, namespace and name.
func render(t *testing.T, folder string, i install) map[string]*unstructured.Unstructured {
	t.Helper()
	all, err := i.objects(folder)
	if err != nil {
		t.Fatal(err)
	}
	return byKey(t, all)
}

func byKey(t *testing.T, all []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	t.Helper()
	keyed := map[string]*unstructured.Unstructured{}
	for _, o := range all {
		key := fmt.Sprintf("%s %s/%s", o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName())
		if keyed[key] != nil {
			t.Errorf("duplicate %s", key)
		}
		keyed[key] = o
	}
	return keyed
}

func keysOf(all map[string]*unstructured.Unstructured) []string {
	var keys []string
	for key := range all {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
