// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
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

// source are the objects that the chart is made of.
var source []*unstructured.Unstructured

func kustomizeOnce(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	if source == nil {
		source = kustomize(t, "hack/helm/source")
	}
	return source
}

// loadChart builds a release's chart.
func loadChart(t *testing.T, release Release) *chart.Chart {
	t.Helper()
	files, err := Build(kustomizeOnce(t), release)
	if err != nil {
		t.Fatal(err)
	}
	var all []*archive.BufferedFile
	for name, text := range files {
		all = append(all, &archive.BufferedFile{Name: name, Data: []byte(text)})
	}
	c, err := loader.LoadFiles(all)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// install is a helm install.
type install struct{ name, namespace, values string }

// likeKustomize results in the same names and namespace as kustomize.
var likeKustomize = install{name: Name, namespace: namespace}

func (i install) with(values string) install {
	i.values = values
	return i
}

// files returns the rendered templates by path.
func (i install) files(c *chart.Chart) (map[string]string, error) {
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

// objectsByKey are objects by kind, namespace and name.
type objectsByKey map[string]*unstructured.Unstructured

// render returns the objects that Helm applies.
func render(t *testing.T, c *chart.Chart, i install) objectsByKey {
	t.Helper()
	files, err := i.files(c)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for path, file := range files {
		if strings.HasSuffix(path, ".yaml") {
			text.WriteString("\n---\n" + file)
		}
	}
	all, err := Read(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return byKey(t, all)
}

func byKey(t *testing.T, all []*unstructured.Unstructured) objectsByKey {
	t.Helper()
	keyed := objectsByKey{}
	for _, o := range all {
		key := fmt.Sprintf("%s %s/%s", o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName())
		if keyed[key] != nil {
			t.Errorf("duplicate %s", key)
		}
		keyed[key] = o
	}
	return keyed
}

// deployment returns the only Deployment.
func (all objectsByKey) deployment(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	for _, o := range all {
		if o.GetKind() == "Deployment" {
			return o
		}
	}
	t.Fatal("no Deployment")
	return nil
}
