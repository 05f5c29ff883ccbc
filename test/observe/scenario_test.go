// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

// samples returns the value of a series that is scraped in a minute, if there is one.
type samples func(minute int) (value float64, ok bool)

func always(v float64) samples { return func(int) (float64, bool) { return v, true } }

// then changes the samples from a minute on.
func (before samples) then(from int, after samples) samples {
	return func(minute int) (float64, bool) {
		if minute < from {
			return before(minute)
		}
		return after(minute)
	}
}

func never(int) (float64, bool) { return 0, false }

// pod is the metrics of one operator, by name without the prefix, followed by the value of a reason, state or bucket label.
type pod map[string]samples

// absentFrom removes all samples from a minute on.
func (p pod) absentFrom(from int) pod {
	for name, v := range p {
		p[name] = v.then(from, never)
	}
	return p
}

// absentUntil removes all samples before a minute.
func (p pod) absentUntil(minute int) pod {
	for name, v := range p {
		p[name] = samples(never).then(minute, v)
	}
	return p
}

func (p pod) with(changes pod) pod {
	maps.Copy(p, changes)
	return p
}

// scenario is what Prometheus scrapes, by pod and by schedule. The empty name is for metrics without a schedule. A pod's name may begin with
// that of its cluster, and a slash.
type scenario map[string]map[string]pod

// load returns the scenario in Prometheus' test language.
func (s scenario) load(t *testing.T, minutes int) string {
	t.Helper()
	labelsOf := map[string][]string{}
	for _, m := range ownMetrics() {
		name := strings.TrimPrefix(m.Name, "snapshotschedule_")
		if m.Type == "histogram" {
			labelsOf[name+"_bucket"] = append(m.Labels, "le")
			continue
		}
		labelsOf[name] = m.Labels
	}
	var b strings.Builder
	b.WriteString("load 1m\n")
	for name, schedules := range s {
		cluster, podName, several := strings.Cut(name, "/")
		if !several {
			cluster, podName = "", name
		}
		for schedule, metrics := range schedules {
			for key, v := range metrics {
				name, value, _ := strings.Cut(key, " ")
				names, ok := labelsOf[name]
				if !ok {
					t.Fatalf("the operator has no metric %s", name)
				}
				set := map[string]string{
					"cluster": cluster, "container": "manager", "endpoint": "https", "instance": podName + ":8443",
					"job": "snapshotschedule-controller-manager-metrics-service", "namespace": "snapshotschedule-system",
					"pod": podName, "service": "snapshotschedule-controller-manager-metrics-service",
				}
				for _, l := range names {
					set[l] = map[string]string{"namespace": "shop", "schedule": schedule}[l]
					if set[l] == "" {
						set[l] = value
					}
					if l == "cluster_schedule" && strings.HasPrefix(name, "cluster_") {
						set[l] = "gold"
					}
				}
				fmt.Fprintf(&b, "  snapshotschedule_%s%s", name, labels.FromMap(set).WithoutEmpty())
				was := false
				for minute := range minutes + 1 {
					value, is := v(minute)
					switch {
					case is:
						fmt.Fprintf(&b, " %v", int64(value))
					case was:
						b.WriteString(" stale")
					default:
						b.WriteString(" _")
					}
					was = is
				}
				b.WriteString("\n")
			}
		}
	}
	return b.String()
}

// firingAlert is an alert that fired.
type firingAlert struct {
	alert, cluster, schedule, severity string
	// from and until are minutes of the scenario. until is zero if the alert still fires at the end.
	from, until int
	// text is the summary and the description in the first minute.
	text string
}

// evaluate evaluates the rules every minute, and returns the alerts that fired.
func (s scenario) evaluate(t *testing.T, minutes int) []firingAlert {
	t.Helper()
	suite, err := promqltest.NewLazyLoader(s.load(t, minutes), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	must(t, err)
	defer func() { must(t, suite.Close()) }()
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:  rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()),
		Appendable: suite.Storage(),
		Context:    context.Background(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger:     promslog.NewNopLogger(),
	})
	groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, ruleFile(t))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var fired []firingAlert
	open := map[string]int{} // from an alert's labels to its index in fired
	for minute := range minutes + 1 {
		now := map[string]rules.Alert{}
		at := time.Unix(0, 0).Add(time.Duration(minute) * time.Minute).UTC()
		suite.WithSamplesTill(at, func(err error) {
			must(t, err)
			for _, group := range groups {
				group.Eval(suite.Context(), at)
				for _, rule := range group.Rules() {
					must(t, rule.LastError())
					for _, a := range rule.(*rules.AlertingRule).ActiveAlerts() {
						if a.State == rules.StateFiring {
							now[a.Labels.String()] = *a
						}
					}
				}
			}
		})
		for key, i := range open {
			if _, still := now[key]; !still {
				fired[i].until = minute
				delete(open, key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(now)) {
			if _, known := open[key]; known {
				continue
			}
			a := now[key]
			open[key] = len(fired)
			fired = append(fired, firingAlert{
				alert: a.Labels.Get("alertname"), cluster: a.Labels.Get("cluster"), schedule: a.Labels.Get("schedule"), severity: a.Labels.Get("severity"), from: minute,
				text: a.Annotations.Get("summary") + "\n" + a.Annotations.Get("description"),
			})
			if ns := a.Labels.Get("namespace"); ns != "shop" && a.Labels.Get("schedule") != "" {
				t.Errorf("%s has namespace %q", key, ns)
			}
		}
	}
	return fired
}
