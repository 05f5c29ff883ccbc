// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"maps"
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

// pod is the metrics of one operator, by name without its own prefix, followed by the value of a reason, state or bucket label.
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
	labelsOf := map[string][]string{workers: {"name"}}
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
				if name != workers {
					name = "snapshotschedule_" + name
				}
				fmt.Fprintf(&b, "  %s%s", name, labels.FromMap(set).WithoutEmpty())
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

// alertPrefix is the beginning of the name of every alert.
const alertPrefix = "SnapshotSchedule"

// evaluate evaluates the rules every minute, and returns the alerts that fired, in the order in which they began: when, the severity, the
// name, the summary and, after a bar, the description in the first minute.
func (s scenario) evaluate(t *testing.T, minutes int) []string {
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
	var began, fired []string
	open := map[string]int{} // from an alert's labels to its index
	for minute := range minutes + 1 {
		firing := map[string]bool{}
		at := time.Unix(0, 0).Add(time.Duration(minute) * time.Minute).UTC()
		suite.WithSamplesTill(at, func(err error) {
			must(t, err)
			for _, group := range groups {
				group.Eval(suite.Context(), at)
				for _, rule := range group.Rules() {
					must(t, rule.LastError())
					for _, a := range rule.(*rules.AlertingRule).ActiveAlerts() {
						key := a.Labels.String()
						if firing[key] = a.State == rules.StateFiring; !firing[key] {
							continue
						}
						if _, known := open[key]; !known {
							open[key] = len(began)
							began, fired = append(began, clock(minute)+"–"), append(fired, describe(t, a))
						}
					}
				}
			}
		})
		for key, i := range open {
			if !firing[key] {
				began[i] += clock(minute)
				delete(open, key)
			}
		}
	}
	for _, i := range open {
		began[i] += "end"
	}
	for i := range fired {
		fired[i] = began[i] + " " + fired[i]
	}
	return fired
}

// describe returns the severity, the name and the texts of an alert. Its description names the object.
func describe(t *testing.T, a *rules.Alert) string {
	t.Helper()
	summary, description := a.Annotations.Get("summary"), a.Annotations.Get("description")
	object := "namespace " + a.Labels.Get("namespace")
	if name := a.Labels.Get("schedule"); name != "" {
		object = "SnapshotSchedule " + name + " in " + object
	} else if name := a.Labels.Get("cluster_schedule"); name != "" {
		object = "ClusterSnapshotSchedule " + name
	} else if name := a.Labels.Get("driver"); name != "" {
		object = "driver " + name
	}
	if !strings.HasPrefix(a.Labels.Get("alertname"), alertPrefix+"Operator") && !strings.Contains(description, object) {
		t.Errorf("the description does not name %s: %s", object, description)
	}
	name := strings.TrimPrefix(a.Labels.Get("alertname"), alertPrefix)
	return fmt.Sprintf("%s %s: %s | %s", a.Labels.Get("severity"), name, summary, description)
}
