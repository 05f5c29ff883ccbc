// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// decode decodes an object of the Prometheus operator. Unknown fields are errors.
func decode(t *testing.T, path, kind string, into runtime.Object) {
	t.Helper()
	must(t, yaml.UnmarshalStrict(read(t, path), into))
	if got, want := into.GetObjectKind().GroupVersionKind(), monitoringv1.SchemeGroupVersion.WithKind(kind); got != want {
		t.Fatalf("%s is a %s, want %s", path, got, want)
	}
}

// ruleFile writes the groups of the PrometheusRule as a rule file of Prometheus.
func ruleFile(t *testing.T) string {
	t.Helper()
	var rule monitoringv1.PrometheusRule
	decode(t, "config/prometheus/rules.yaml", monitoringv1.PrometheusRuleKind, &rule)
	text, err := yaml.Marshal(map[string]any{"groups": rule.Spec.Groups})
	must(t, err)
	path := filepath.Join(t.TempDir(), "rules.yaml")
	must(t, os.WriteFile(path, text, 0o600))
	return path
}

// alertRules returns the alerts of the rule file, parsed as Prometheus does.
func alertRules(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(ruleFile(t), false, model.UTF8Validation, parser.NewParser(parser.Options{}), promslog.NewNopLogger())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	found := map[string]rulefmt.Rule{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" || found[rule.Alert].Alert != "" {
				t.Errorf("%+v is not an alert, or has a duplicate name", rule)
			}
			found[rule.Alert] = rule
		}
	}
	if len(found) == 0 {
		t.Fatal("the rule file has no alerts")
	}
	return found
}

func TestRulesAreComplete(t *testing.T) {
	known := knownMetrics(t)
	for name, rule := range alertRules(t) {
		checkExpression(t, known, rule.Expr)
		if !strings.HasPrefix(name, "SnapshotSchedule") {
			t.Errorf("%s: the name should begin with SnapshotSchedule", name)
		}
		if severities := []string{"critical", "warning", "info"}; !slices.Contains(severities, rule.Labels["severity"]) {
			t.Errorf("%s: severity is %q, want one of %v", name, rule.Labels["severity"], severities)
		}
		if got, want := slices.Sorted(maps.Keys(rule.Annotations)), []string{"description", "runbook_url", "summary"}; !slices.Equal(got, want) {
			t.Errorf("%s: annotations %v, want %v", name, got, want)
		}
		if got, want := rule.Annotations["runbook_url"], "https://mapcontroller.dev/snapshotschedule/"+runbook(name); got != want {
			t.Errorf("%s: runbook_url is %s, want %s", name, got, want)
		}
		if rule.For == 0 {
			t.Errorf("%s: has no for duration and fires after a single scrape", name)
		}
	}
}

// runbook returns the path of the page that says what to do about an alert.
func runbook(alert string) string { return "docs/runbooks/" + strings.ToLower(alert) + ".md" }

// Whoever is paged finds the same sections in the same order, commands to paste, and no more than fits a screen.
func TestEachAlertHasItsRunbook(t *testing.T) {
	var want []string
	for name := range alertRules(t) {
		path := runbook(name)
		want = append(want, filepath.Base(path))
		page := string(read(t, path))
		var headings []string
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "#") {
				headings = append(headings, strings.TrimSpace(line))
			}
		}
		if sections := []string{"# " + name, "## Meaning", "## Impact", "## Diagnose", "## Fix"}; !slices.Equal(headings, sections) {
			t.Errorf("%s has the headings %q, want %q", path, headings, sections)
		}
		_, diagnose, _ := strings.Cut(page, "## Diagnose")
		diagnose, _, _ = strings.Cut(diagnose, "## Fix")
		if !strings.Contains(diagnose, "```sh\nkubectl ") {
			t.Errorf("%s has no command under Diagnose", path)
		}
		if words := len(strings.Fields(page)); words < 80 || words > 250 {
			t.Errorf("%s has %d words, want 80 to 250", path, words)
		}
	}
	slices.Sort(want)
	files, err := filepath.Glob(filepath.Join(root, "docs/runbooks/*"))
	must(t, err)
	var got []string
	for _, file := range files {
		got = append(got, filepath.Base(file))
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/runbooks has\n%q, the alerts are\n%q", got, want)
	}
}

// The alerts need the operator's own namespace label.
func TestServiceMonitorHonorsLabels(t *testing.T) {
	var monitor monitoringv1.ServiceMonitor
	decode(t, "config/prometheus/monitor.yaml", monitoringv1.ServiceMonitorsKind, &monitor)
	if e := monitor.Spec.Endpoints; len(e) != 1 || !e[0].HonorLabels {
		t.Errorf("want one endpoint with honorLabels, got %+v", e)
	}
}

func TestServiceMonitorSelectsTheMetricsService(t *testing.T) {
	var monitor monitoringv1.ServiceMonitor
	decode(t, "config/prometheus/monitor.yaml", monitoringv1.ServiceMonitorsKind, &monitor)
	var service corev1.Service
	must(t, yaml.UnmarshalStrict(read(t, "config/default/metrics_service.yaml"), &service))
	selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
	must(t, err)
	if selector.Empty() || !selector.Matches(labels.Set(service.Labels)) {
		t.Errorf("%s does not match %v", selector, service.Labels)
	}
	var policy networkingv1.NetworkPolicy
	must(t, yaml.UnmarshalStrict(read(t, "config/network-policy/allow-metrics-traffic.yaml"), &policy))
	for _, port := range service.Spec.Ports {
		if port.Name == monitor.Spec.Endpoints[0].Port && len(policy.Spec.Ingress) == 1 &&
			*policy.Spec.Ingress[0].Ports[0].Port == port.TargetPort &&
			maps.Equal(policy.Spec.PodSelector.MatchLabels, service.Spec.Selector) {
			return
		}
	}
	t.Errorf("the monitor scrapes port %s, the service has %v, the network policy allows %v",
		monitor.Spec.Endpoints[0].Port, service.Spec.Ports, policy.Spec.Ingress)
}
