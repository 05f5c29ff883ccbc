// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// A default Prometheus stack ignores objects without its labels, and Grafana's sidecar those without the dashboard's.
func TestMonitoringValuesReachEveryObject(t *testing.T) {
	values := `{prometheus: {enabled: true, interval: 45s, labels: {release: stack}, docsURL: 'https://wiki.example.com/docs'},
		dashboard: {enabled: true, labels: {grafana_dashboard: null, dashboards: "yes"}}}`
	checked := map[string]bool{}
	for key, o := range render(t, loadChart(t, release), likeKustomize.with(values)) {
		kind := o.GetKind()
		switch kind {
		case "ServiceMonitor", "PrometheusRule":
			if o.GetLabels()["release"] != "stack" {
				t.Errorf("%s: labels %v", key, o.GetLabels())
			}
		case "ConfigMap":
			if labels := o.GetLabels(); labels["dashboards"] != "yes" || labels["grafana_dashboard"] != "" {
				t.Errorf("%s: labels %v", key, labels)
			}
		default:
			continue
		}
		checked[kind] = true
		text, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if kind == "PrometheusRule" && strings.Count(string(text), `"alert"`) != strings.Count(string(text), `"runbook_url":"https://wiki.example.com/docs/`) {
			t.Errorf("%s: an alert's runbook_url does not begin with docsURL: %s", key, text)
		}
		if kind == "ServiceMonitor" && !strings.Contains(string(text), `"interval":"45s"`) {
			t.Errorf("%s: %s", key, text)
		}
	}
	if len(checked) != 3 {
		t.Errorf("only %v", checked)
	}
}

// requireSelected checks that a label selector of an object matches the operator's pods.
func requireSelected(t *testing.T, all objectsByKey, o *unstructured.Unstructured, path ...string) {
	t.Helper()
	selector, _, _ := unstructured.NestedStringMap(o.Object, path...)
	pods, _, _ := unstructured.NestedStringMap(all.deployment(t).Object, "spec", "template", "metadata", "labels")
	if len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(labels.Set(pods)) {
		t.Errorf("%s: %v does not select %v", o.GetName(), selector, pods)
	}
}

func TestPodDisruptionBudgetSelectsThePods(t *testing.T) {
	i := install{name: "backup", namespace: "ops", values: "{podDisruptionBudget: {enabled: true}, manager: {podLabels: {a: b}}}"}
	got := render(t, loadChart(t, release), i)
	budget := got["PodDisruptionBudget.policy ops/backup-snapshotschedule-controller-manager"]
	if budget == nil {
		t.Fatal("no PodDisruptionBudget")
	}
	requireSelected(t, got, budget, "spec", "selector", "matchLabels")
}

// Without egress rules of its own, a policy with policyTypes Egress would cut the manager off from the API server.
func TestNetworkPoliciesAllowTheMetricsInAndTheAPIServerOut(t *testing.T) {
	values := "{networkPolicy: {enabled: true, apiServerPorts: [443, 16443]}}"
	got := render(t, loadChart(t, release), likeKustomize.with(values))
	ports := map[string][]any{}
	for _, o := range got {
		if o.GetKind() != "NetworkPolicy" {
			continue
		}
		requireSelected(t, got, o, "spec", "podSelector", "matchLabels")
		types, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "policyTypes")
		for _, direction := range types {
			rules, _, _ := unstructured.NestedSlice(o.Object, "spec", strings.ToLower(direction))
			for _, rule := range rules {
				for _, port := range rule.(map[string]any)["ports"].([]any) {
					ports[direction] = append(ports[direction], port.(map[string]any)["port"])
				}
			}
		}
	}
	if got, want := fmt.Sprint(ports), "map[Egress:[443 16443] Ingress:[8443]]"; got != want {
		t.Errorf("the policies allow %s, want %s", got, want)
	}
}
