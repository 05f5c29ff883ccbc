// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/diff"
)

// TestEqualToKustomize compares the chart with config/default, object by object. What
// may differ is in settle, and the Namespace, which Helm makes by --create-namespace.
func TestEqualToKustomize(t *testing.T) {
	folder := built(t)
	want := kustomize(t, "config/default")
	same(t, mustInstall(t, folder, asKustomize), byKey(t, withoutNamespace(t, want)))

	all := "{prometheus: {enable: true}, networkPolicy: {enable: true}}"
	want = kustomize(t, "hack/helm/source")
	same(t, mustInstall(t, folder, asKustomize.with(all)), byKey(t, withoutNamespace(t, want)))
}

// TestEqualToNamespaced compares the chart with config/namespaced: the namespaces are
// named in place of being asked for.
func TestEqualToNamespaced(t *testing.T) {
	values := "{watchNamespaces: [snapshotschedule], crd: {enable: false}, rbacHelpers: {enable: false}, metrics: {enable: false}}"
	got := mustInstall(t, built(t), install{name: Name, namespace: Name, values: values})
	want := byKey(t, kustomize(t, "config/namespaced"))
	deployment := "Deployment.apps snapshotschedule/snapshotschedule-controller-manager"
	manager := managerOf(t, want[deployment])
	args, env := manager["args"].([]any), manager["env"].([]any)
	last := len(args) - 1
	if args[last] != "--watch-namespaces=$(POD_NAMESPACE)" || env[len(env)-1].(map[string]any)["name"] != "POD_NAMESPACE" {
		t.Fatalf("config/namespaced confines the manager in another way: %v, %v", args, env)
	}
	args[last] = "--watch-namespaces=snapshotschedule"
	manager["env"] = env[:len(env)-1]
	same(t, got, want)
}

func withoutNamespace(t *testing.T, all []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	var left []*unstructured.Unstructured
	for _, o := range all {
		if o.GetKind() != "Namespace" {
			left = append(left, o)
		}
	}
	if len(left) != len(all)-1 {
		t.Errorf("%d Namespaces", len(all)-len(left))
	}
	return left
}

func same(t *testing.T, got, want map[string]*unstructured.Unstructured) {
	t.Helper()
	if g, w := keysOf(got), keysOf(want); !reflect.DeepEqual(g, w) {
		t.Fatalf("objects: %s", diff.Diff(w, g))
	}
	for key, o := range want {
		settle(t, got[key])
		labels := o.GetLabels()
		delete(labels, "app.kubernetes.io/managed-by")
		// The scaffold leaves the roles of the metrics without labels.
		delete(labels, "app.kubernetes.io/name")
		setLabels(o, labels)
		if !reflect.DeepEqual(got[key].Object, o.Object) {
			t.Errorf("%s: %s", key, diff.Diff(o.Object, got[key].Object))
		}
	}
}

// settle takes away what is Helm's in an object, after a look whether it is right.
func settle(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	labels := o.GetLabels()
	for key, want := range map[string]string{
		"app.kubernetes.io/managed-by": "Helm",
		"app.kubernetes.io/instance":   Name,
		"app.kubernetes.io/name":       Name,
		"helm.sh/chart":                Name + "-" + release.Version,
	} {
		if labels[key] != want {
			t.Errorf("%s: label %s is %q", o.GetName(), key, labels[key])
		}
		delete(labels, key)
	}
	setLabels(o, labels)
	if o.GetKind() == "CustomResourceDefinition" {
		annotations := o.GetAnnotations()
		if annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s would go with the chart: %v", o.GetName(), annotations)
		}
		delete(annotations, "helm.sh/resource-policy")
		o.SetAnnotations(annotations)
	}
}

func setLabels(o *unstructured.Unstructured, labels map[string]string) {
	labels = maps.Clone(labels)
	if len(labels) == 0 {
		labels = nil
	}
	o.SetLabels(labels)
}

func managerOf(t *testing.T, deployment *unstructured.Unstructured) map[string]any {
	t.Helper()
	if deployment == nil {
		t.Fatal("there is no Deployment")
	}
	p, err := partsOf(deployment.Object)
	if err != nil {
		t.Fatal(err)
	}
	return p.manager
}

// TestAlertsAreNotRendered holds that what Prometheus is to fill in stays.
func TestAlertsAreNotRendered(t *testing.T) {
	for key, o := range mustInstall(t, built(t), asKustomize.with("{prometheus: {enable: true}}")) {
		if strings.HasPrefix(key, "PrometheusRule") {
			text, err := o.MarshalJSON()
			if err != nil || !strings.Contains(string(text), "{{ $labels.namespace }}") {
				t.Errorf("%v: %s", err, text)
			}
			return
		}
	}
	t.Error("there is no PrometheusRule")
}
