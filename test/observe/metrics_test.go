// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql/parser"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"mapcontroller.dev/snapshotschedule/internal/clusterschedules"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// root is the repository's root.
const root = "../.."

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	must(t, err)
	return text
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var descriptionPattern = regexp.MustCompile(`fqName: "([^"]+)".* constLabels: {([^}]*)}, variableLabels: {([^}]*)}`)

// targetLabels are added to every series when it is scraped. cluster is for those who store the metrics of several clusters together.
var targetLabels = []string{"cluster", "container", "endpoint", "instance", "job", "namespace", "pod", "service"}

// knownMetrics returns the metrics of the operator, its own and those of libraries, with their labels.
func knownMetrics(t *testing.T) map[string][]string {
	t.Helper()
	descriptions := make(chan *prometheus.Desc)
	go func() {
		ctrlmetrics.Registry.(prometheus.Collector).Describe(descriptions)
		metrics.New().Describe(descriptions)
		clusterschedules.NewMetrics().Describe(descriptions)
		close(descriptions)
	}()
	found := map[string][]string{}
	for d := range descriptions {
		m := descriptionPattern.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot parse %s", d)
		}
		labels := slices.Clone(targetLabels)
		for l := range strings.SplitSeq(m[2]+","+m[3], ",") {
			name, _, _ := strings.Cut(l, "=")
			labels = append(labels, name)
		}
		found[m[1]] = labels
		// A description does not say whether the metric is a histogram. For the operator's own metrics, see below.
		if strings.HasSuffix(m[1], "_seconds") {
			found[m[1]+"_sum"], found[m[1]+"_count"] = labels, labels
			found[m[1]+"_bucket"] = append(slices.Clone(labels), "le")
		}
	}
	for _, m := range ownMetrics() {
		for _, suffix := range []string{"_sum", "_count", "_bucket"} {
			if m.Type != "histogram" {
				delete(found, m.Name+suffix)
			}
		}
		if m.Type == "histogram" {
			delete(found, m.Name)
		}
	}
	return found
}

// ownMetrics returns the operator's own metrics.
func ownMetrics() []report.Metric {
	return append(metrics.New().Described(), clusterschedules.NewMetrics().Described()...)
}

func TestKnownMetrics(t *testing.T) {
	found := knownMetrics(t)
	for name, label := range map[string]string{
		"snapshotschedule_snapshots":                       "state",
		"snapshotschedule_slot_to_creation_seconds_bucket": "le",
		"controller_runtime_reconcile_total":               "result",
		"workqueue_depth":                                  "name",
		"process_cpu_seconds_total":                        "pod",
	} {
		if !slices.Contains(found[name], label) {
			t.Errorf("%s has labels %q, want %s among them", name, found[name], label)
		}
	}
	for _, name := range []string{"snapshotschedule_snapshots_total", "snapshotschedule_ready_count", "snapshotschedule_slot_to_creation_seconds"} {
		if _, ok := found[name]; ok {
			t.Errorf("%s should not be known", name)
		}
	}
	if len(found) < 50 {
		t.Errorf("found only %v", slices.Sorted(maps.Keys(found)))
	}
}

// checkExpression parses an expression, and checks that every metric and label in it is known.
func checkExpression(t *testing.T, known map[string][]string, expr string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v", expr, err)
		return
	}
	var labels []string // of all metrics in the expression
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		have, ok := known[selector.Name]
		if !ok {
			t.Errorf("%s: unknown metric %q", expr, selector.Name)
		}
		for _, m := range selector.LabelMatchers {
			if m.Name != "__name__" && !slices.Contains(have, m.Name) {
				t.Errorf("%s: %s has no label %s", expr, selector.Name, m.Name)
			}
		}
		labels = append(labels, have...)
		return nil
	})
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		var named []string
		switch n := node.(type) {
		case *parser.AggregateExpr:
			named = n.Grouping
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				named = append(slices.Clone(n.VectorMatching.MatchingLabels), n.VectorMatching.Include...)
			}
		}
		for _, l := range named {
			if !slices.Contains(labels, l) {
				t.Errorf("%s: no metric has label %s", expr, l)
			}
		}
		return nil
	})
}
