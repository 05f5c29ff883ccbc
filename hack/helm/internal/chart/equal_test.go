// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/diff"
)

// The Namespace differs, because helm --create-namespace creates it, and the metadata
// that removeHelmMetadata removes.
func TestChartEqualsKustomize(t *testing.T) {
	c := loadChart(t, release)
	want := append(kustomize(t, "config/crd"), kustomize(t, "config/default")...)
	requireEqual(t, render(t, c, likeKustomize), byKey(t, withoutNamespace(t, want)))

	all := "{prometheus: {enabled: true}, networkPolicy: {enabled: true}, dashboard: {enabled: true}, guardrails: {enabled: true}, warnings: {enabled: true}}"
	want = kustomize(t, "hack/helm/source")
	requireEqual(t, render(t, c, likeKustomize.with(all)), byKey(t, withoutNamespace(t, want)))
}

// Where a certificate is issued, Prometheus verifies it.
func TestChartWithACertificateEqualsKustomize(t *testing.T) {
	// kustomize accepts relative paths only, and git ignores dist.
	dist := filepath.Join(root, "dist")
	if err := os.MkdirAll(dist, 0o755); err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp(dist, "overlay.")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	overlay := "resources:\n- ../../config/default\n- ../../config/monitoring\ncomponents:\n- ../../config/metrics-certificate\n"
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	want := byKey(t, kustomize(t, filepath.Join("dist", filepath.Base(folder))))
	values := "{prometheus: {enabled: true}, metrics: {certificateSecret: metrics-server-cert}}"
	got := render(t, loadChart(t, release), likeKustomize.with(values))
	for _, key := range []string{
		"Deployment.apps " + namespace + "/" + prefix + "controller-manager",
		"ServiceMonitor.monitoring.coreos.com " + namespace + "/" + prefix + "controller-manager-metrics-monitor",
	} {
		requireEqual(t, objectsByKey{key: got[key]}, objectsByKey{key: want[key]})
		if text, err := want[key].MarshalJSON(); err != nil || strings.Contains(string(text), "insecureSkipVerify") {
			t.Errorf("%s: %v: %s", key, err, text)
		}
	}
}

// The overlay of docs/run/tenants.md adds the list of namespaces, and kubectl apply -n sets the namespace of the Roles.
func TestNamespacedChartEqualsKustomize(t *testing.T) {
	values := "{watchNamespaces: [bank, shop], admission: {enabled: false}, crds: {enabled: false}, rbacHelpers: {enabled: false}, metrics: {enabled: false}}"
	got := render(t, loadChart(t, release), install{name: Name, namespace: Name, values: values})
	all := kustomize(t, "config/namespaced")
	for _, watched := range []string{"bank", "shop"} {
		for _, o := range kustomize(t, "config/namespaced/watched") {
			o.SetNamespace(watched)
			all = append(all, o)
		}
	}
	want := byKey(t, all)
	manager := managerOf(t, want.deployment(t))
	manager["args"] = append(manager["args"].([]any), "--watch-namespaces=bank,shop")
	requireEqual(t, got, want)
}

// Where the operator watches its own namespace, the built-in role edit may impersonate its ServiceAccount.
func TestNotesWarnOfAReleaseInAWatchedNamespace(t *testing.T) {
	c := loadChart(t, release)
	for watched, want := range map[string]bool{"[]": false, "[shop]": false, "[shop, ops]": true} {
		files, err := install{name: "backup", namespace: "ops", values: "{watchNamespaces: " + watched + "}"}.files(c)
		if err != nil {
			t.Fatal(err)
		}
		notes := files[Name+"/templates/NOTES.txt"]
		if got := strings.Contains(notes, "WARNING: ops is watched"); got != want || notes == "" {
			t.Errorf("%s: warned %t, want %t: %s", watched, got, want, notes)
		}
	}
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

func requireEqual(t *testing.T, got, want objectsByKey) {
	t.Helper()
	if g, w := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(g, w) {
		t.Fatalf("objects: %s", diff.Diff(w, g))
	}
	for key, o := range want {
		removeHelmMetadata(t, got[key])
		labels := o.GetLabels()
		delete(labels, "app.kubernetes.io/managed-by")
		// kubebuilder's metrics roles have no labels.
		delete(labels, "app.kubernetes.io/name")
		setLabels(o, labels)
		if !reflect.DeepEqual(got[key].Object, o.Object) {
			t.Errorf("%s: %s", key, diff.Diff(o.Object, got[key].Object))
		}
	}
}

// removeHelmMetadata checks and removes the labels that only Helm sets.
func removeHelmMetadata(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	labels := o.GetLabels()
	for key, want := range map[string]string{
		"app.kubernetes.io/managed-by": "Helm",
		"app.kubernetes.io/instance":   Name,
		"app.kubernetes.io/name":       Name,
		"app.kubernetes.io/part-of":    Name,
		"app.kubernetes.io/version":    "latest",
		"helm.sh/chart":                Name + "-" + release.Version,
	} {
		if labels[key] != want {
			t.Errorf("%s: label %s is %q", o.GetName(), key, labels[key])
		}
		delete(labels, key)
	}
	setLabels(o, labels)
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
	d, err := parseDeployment(deployment.Object)
	if err != nil {
		t.Fatal(err)
	}
	return d.manager
}
