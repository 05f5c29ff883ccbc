// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/promqltest"
)

type dashboard struct {
	Title, UID string
	Templating struct {
		List []struct {
			Name, Type, Definition string
		}
	}
	Panels []panel
}

type panel struct {
	ID          int
	Type, Title string
	Datasource  struct{ UID string }
	GridPos     struct{ X, Y, W, H int }
	Panels      []panel
	Targets     []target
	FieldConfig struct{ Defaults struct{ Unit string } }
}

type target struct{ Expr, LegendFormat string }

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	must(t, json.Unmarshal(read(t, "config/grafana/dashboard.json"), &d))
	if d.Title == "" || d.UID == "" || len(d.Panels) == 0 {
		t.Fatalf("the dashboard is empty: %+v", d)
	}
	return d
}

// variables replaces the variables of a query, as Grafana does.
var variables = strings.NewReplacer("$__rate_interval", "2h", "$cluster", ".*", "$namespace", "shop", "$schedule", ".*")

// queries returns the queries of all panels, with the titles of their panels.
func (d dashboard) queries() map[string]string {
	found := map[string]string{}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			found[variables.Replace(q.Expr)] = p.Title
		}
	}
	return found
}

func TestDashboardQueriesNameKnownMetricsAndLabels(t *testing.T) {
	known := knownMetrics(t)
	d := readDashboard(t)
	for query, title := range d.queries() {
		if strings.Contains(query, "$") {
			t.Errorf("%s: %s: unknown variable", title, query)
		}
		checkExpression(t, known, query)
	}
	labelValues := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := labelValues.FindStringSubmatch(variables.Replace(v.Definition))
		if m == nil {
			t.Errorf("variable %s: %s is not a label_values query", v.Name, v.Definition)
			continue
		}
		checkExpression(t, known, "count by ("+m[2]+") ("+m[1]+")")
	}
}

// legendLabel matches a label in a legend.
var legendLabel = regexp.MustCompile(`{{(\w+)}}`)

func TestDashboardPanelsAreComplete(t *testing.T) {
	d := readDashboard(t)
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || len(p.Panels) > 0 {
			t.Errorf("panel %d, %q: duplicate ID, no title, or nested panels", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s overlaps %q or the right edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Datasource.UID != "${datasource}" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			t.Errorf("%s: datasource %q, unit %q, %d queries", p.Title, p.Datasource.UID, p.FieldConfig.Defaults.Unit, len(p.Targets))
		}
	}
}

// The scenario has every kind of failure, so that every panel about schedules has data.
func TestDashboardPanelsShowData(t *testing.T) {
	oneOperator := healthy().with(pod{
		"problems": always(1), "failing_persistentvolumeclaims": always(1), "skipped_persistentvolumeclaims": always(1),
		"oldest_verified_timestamp_seconds": always(0), "retention_paused": always(1), "suspended": always(1), "snapshots_failed_total": hourlyCount, "snapshots_retained_in_storage_total": hourlyCount,
		"refused_writes_total delete":       hourlyCount,
		"slot_to_creation_seconds_bucket 1": hourlyCount, "slot_to_creation_seconds_bucket +Inf": hourlyCount,
	})
	const minutes = 3*hour + 30
	s := scenario{"east/a": {"": leading().with(pod{
		"unprotected_persistentvolumeclaims": always(1), "cluster_namespaces": always(2), "cluster_problems": always(1), "cluster_ready Scheduled": always(1),
		"cluster_protected RecoveryPointsCurrent": always(1),
		"in_flight_snapshots csi.example.com":     always(3), "waiting_persistentvolumeclaims csi.example.com": always(1),
	}), "backup": oneOperator}}
	loaded := promqltest.LoadedStorage(t, s.load(t, minutes))
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	at := time.Unix(0, 0).Add(minutes * time.Minute)
	d := readDashboard(t)
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			query := variables.Replace(q.Expr)
			if !strings.Contains(query, "snapshotschedule_") || strings.Contains(query, "and on (cluster, job") {
				continue // about the operator's process, which is not in the scenario
			}
			asked, err := engine.NewInstantQuery(context.Background(), loaded, nil, query, at)
			must(t, err)
			result := asked.Exec(context.Background())
			must(t, result.Err)
			vector, err := result.Vector()
			must(t, err)
			if len(vector) == 0 {
				t.Errorf("%s: %s returns nothing", p.Title, query)
				continue
			}
			t.Logf("%-35s %s = %v", p.Title, vector[0].Metric, vector[0].F)
			for _, m := range legendLabel.FindAllStringSubmatch(q.LegendFormat, -1) {
				if vector[0].Metric.Get(m[1]) == "" {
					t.Errorf("%s: %s has no label %s for its legend", p.Title, query, m[1])
				}
			}
		}
	}
}

func TestEveryMetricIsOnTheDashboardOrInAnAlert(t *testing.T) {
	var all []string
	all = append(all, slices.Collect(maps.Keys(readDashboard(t).queries()))...)
	for _, rule := range alertRules(t) {
		all = append(all, rule.Expr)
	}
	text := strings.Join(all, "\n")
	for _, m := range ownMetrics() {
		if !regexp.MustCompile(m.Name + `\b|` + m.Name + `_bucket\b`).MatchString(text) {
			t.Errorf("%s is neither on the dashboard nor in an alert", m.Name)
		}
	}
}
