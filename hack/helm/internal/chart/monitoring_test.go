// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
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

// alertsWith returns the alerts that the chart renders, by name, and how many groups they are in.
func alertsWith(t *testing.T, alerts string) (found map[string]map[string]any, groups int) {
	t.Helper()
	found = map[string]map[string]any{}
	for _, o := range render(t, loadChart(t, release), likeKustomize.with("{prometheus: {enabled: true, alerts: "+alerts+"}}")) {
		all, _, err := unstructured.NestedSlice(o.Object, "spec", "groups")
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range all {
			groups++
			rules, given := group.(map[string]any)["rules"]
			if given && rules == nil {
				t.Errorf("%s has a group whose rules are null", o.GetName())
			}
			list, _ := rules.([]any)
			for _, rule := range list {
				rule := rule.(map[string]any)
				found[rule["alert"].(string)] = rule
			}
		}
	}
	return found, groups
}

func TestAlertsAreTunedOneByOne(t *testing.T) {
	all, groups := alertsWith(t, "{}")
	if len(all) < 10 || groups != 1 {
		t.Fatalf("found %d alerts in %d groups", len(all), groups)
	}
	for name, before := range all {
		got, _ := alertsWith(t, "{disabled: ["+name+"], labels: {team: 'yes', area: a:b}}")
		if got[name] != nil || len(got) != len(all)-1 {
			t.Errorf("without %s, there are %d alerts", name, len(got))
		}
		for other, rule := range got {
			labels := maps.Clone(all[other]["labels"].(map[string]any))
			labels["team"], labels["area"] = "yes", "a:b"
			if !reflect.DeepEqual(rule["labels"], labels) {
				t.Errorf("%s has the labels %v, want %v", other, rule["labels"], labels)
			}
		}
		tuned, _ := alertsWith(t, "{for: {"+name+": 90m}}")
		want := maps.Clone(all)
		want[name] = maps.Clone(before)
		if want[name]["for"] = "90m"; !reflect.DeepEqual(tuned, want) {
			t.Errorf("with 90m, %s is %v", name, tuned[name])
		}
	}
	names := strings.Join(slices.Sorted(maps.Keys(all)), ", ")
	if got, groups := alertsWith(t, "{disabled: ["+names+"]}"); len(got) != 0 || groups != 1 {
		t.Errorf("without any, there are %d alerts in %d groups", len(got), groups)
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
