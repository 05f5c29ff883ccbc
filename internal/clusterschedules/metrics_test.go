// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

func TestGauges(t *testing.T) {
	const (
		failing = "snapshotschedule_cluster_ready{cluster_schedule=\"gold\",reason=\"SchedulesFailing\"} 0"
		invalid = "snapshotschedule_cluster_ready{cluster_schedule=\"gold\",reason=\"InvalidSpec\"} 0"
		ready   = "snapshotschedule_cluster_ready{cluster_schedule=\"gold\",reason=\"Scheduled\"} 1"
	)
	broken := summary(0)
	broken.Invalid = errors.New("wrong")
	for name, test := range map[string]struct {
		known mapcontroller.Summary
		want  string
	}{
		"ready": {summary(2, &keyStatus{Exists: true}), `snapshotschedule_cluster_namespaces{cluster_schedule="gold"} 2
snapshotschedule_cluster_problems{cluster_schedule="gold"} 0
` + ready},
		"failing": {summary(2, &keyStatus{Problems: []problem{{"shop", "CreateFailed", "why"}}}), `snapshotschedule_cluster_namespaces{cluster_schedule="gold"} 2
snapshotschedule_cluster_problems{cluster_schedule="gold"} 1
` + failing},
		"invalid": {broken, `snapshotschedule_cluster_problems{cluster_schedule="gold"} 0
` + invalid},
	} {
		t.Run(name, func(t *testing.T) {
			g, f := NewMetrics(), gold()
			setStatus(now, f, test.known)
			g.set(f)
			if got := values(t, g); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			setStatus(now, f, summary(1, &keyStatus{Exists: true}))
			g.set(f)
			if got := values(t, g); strings.Count(got, "snapshotschedule_cluster_ready{") != 1 {
				t.Errorf("a reason that is past is still shown: %s", got)
			}
			g.forget(types.NamespacedName{Name: f.Name})
			if got := values(t, g); got != "" {
				t.Errorf("after its deletion: %s", got)
			}
		})
	}
}

// values returns the samples of a collector.
func values(t *testing.T, g *Metrics) string {
	t.Helper()
	var names []string
	for _, m := range NewMetrics().Described() {
		names = append(names, m.Name)
	}
	text, err := testutil.CollectAndFormat(g, expfmt.TypeTextPlain, names...)
	if err != nil {
		t.Fatal(err)
	}
	var samples []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			samples = append(samples, strings.TrimSpace(line))
		}
	}
	return strings.Join(samples, "\n")
}

func TestMetricsAreDescribed(t *testing.T) {
	if problems, err := testutil.CollectAndLint(NewMetrics()); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	for _, m := range NewMetrics().Described() {
		if m.Help == "" || m.Type != "gauge" || !strings.HasPrefix(m.Name, "snapshotschedule_cluster_") {
			t.Errorf("%+v", m)
		}
	}
}
