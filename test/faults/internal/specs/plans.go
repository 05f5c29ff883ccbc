// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package specs puts every field of a schedule's spec, and every pair of fields,
// at the edges of what they take, on a real API server with the real operator:
// what is bad is refused, by name, and harms nothing; what is good works; and all
// of it works once it is mended.
package specs

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Plan is one state of a spec.
type Plan struct {
	// ID names it for good: its fields and their values.
	ID string
	// name is of the schedule.
	name string
	spec map[string]any
	// verdict is what the contract says of it, and names what a refusal has to
	// name: at least one of them, or each of them if it is invalid.
	verdict verdict
	names   []string
	// reason of condition Ready, if the spec is valid.
	reason string
}

// choice is one field at one of its values.
type choice struct {
	field
	value
}

// good is a spec that everything else is a change of.
func good() map[string]any {
	return map[string]any{"snapshotInterval": "6h", "snapshotTTL": "10d"}
}

// Plans are all: each field at each of its edges; each pair of fields at good
// ones, each field at a good one beside what is invalid, and bad ones in pairs.
func Plans() []Plan {
	var plans []Plan
	add := func(choices ...choice) { plans = append(plans, newPlan(choices...)) }
	all := fields()
	for _, f := range all {
		for _, v := range f.values {
			add(choice{f, v})
		}
	}
	for i, a := range all {
		for j, b := range all[i+1:] {
			add(a.nth(valid, i+j), b.nth(valid, j))
		}
	}
	bad := invalidChoices(all)
	for i, b := range bad {
		for j, f := range all {
			if f.path != b.path && !clash(f.path, b.path) {
				add(b, f.nth(valid, i+j))
			}
		}
		add(b, bad[(i+1)%len(bad)])
	}
	for i, a := range all {
		if b := all[(i+1)%len(all)]; !clash(a.path, b.path) {
			add(a.nth(refused, i), b.nth(refused, i+1))
		}
	}
	return append(plans, wholePlans()...)
}

// nth is one of the values of a verdict, in turn.
func (f field) nth(v verdict, n int) choice {
	of := slices.DeleteFunc(slices.Clone(f.values), func(x value) bool { return x.verdict != v })
	return choice{f, of[n%len(of)]}
}

// invalidChoices are one of each way to be invalid.
func invalidChoices(all []field) []choice {
	var found []choice
	for _, f := range all {
		if slices.ContainsFunc(f.values, func(v value) bool { return v.verdict == invalid }) {
			found = append(found, f.nth(invalid, 0))
		}
	}
	return found
}

// clash: the API server refuses the two in one spec, whatever their values.
func clash(a, b string) bool {
	both := []string{a, b}
	return slices.Contains(both, "snapshotInterval") && (slices.Contains(both, "schedule") || slices.Contains(both, "timeZone"))
}

// wholePlans are about the spec as a whole and the schedule's name.
func wholePlans() []Plan {
	return []Plan{
		{ID: "specs:good", name: "every", spec: good(), reason: scheduled},
		{ID: "specs:spec=empty", name: "every", spec: map[string]any{}, verdict: refused, names: []string{"snapshotInterval or schedule is required"}},
		{ID: "specs:spec=none", name: "every", verdict: refused, names: []string{"spec"}},
		{ID: "specs:name=63-characters", name: strings.Repeat("n", 63), spec: good(), reason: scheduled},
		{ID: "specs:name=64-characters", name: strings.Repeat("n", 64), spec: good(), verdict: refused, names: []string{"metadata.name"}},
	}
}

const scheduled = "Scheduled"

func newPlan(choices ...choice) Plan {
	p := Plan{name: "every", spec: good(), reason: scheduled}
	var slugs []string
	chosen := map[string]value{}
	for _, c := range choices {
		slugs = append(slugs, c.path+"="+c.slug)
		chosen[c.path] = c.value
	}
	p.ID = "specs:" + strings.Join(slugs, "+")
	if _, ok := chosen["snapshotInterval"]; !ok {
		if _, ok := chosen["schedule"]; ok {
			delete(p.spec, "snapshotInterval")
		} else if _, ok := chosen["timeZone"]; ok {
			delete(p.spec, "snapshotInterval")
			p.spec["schedule"] = "@daily"
		}
	}
	for _, c := range choices {
		put(p.spec, c.value.value, strings.Split(c.path, ".")...)
	}
	p.judge(choices, chosen)
	return p
}

// put sets a copy of a value, for specs are written to.
func put(spec map[string]any, v any, path ...string) {
	if m, ok := v.(map[string]any); ok {
		v = maps.Clone(m)
	}
	if err := unstructured.SetNestedField(spec, v, path...); err != nil {
		panic(err) // paths are this package's own
	}
}

// judge says what the contract says of a spec.
func (p *Plan) judge(choices []choice, chosen map[string]value) {
	_, interval := p.spec["snapshotInterval"]
	_, schedule := p.spec["schedule"]
	_, zone := p.spec["timeZone"]
	p.accuse(choices, refused)
	if interval && schedule {
		p.names = append(p.names, "snapshotInterval and schedule are both set")
	}
	if zone && !schedule {
		p.names = append(p.names, "spec.timeZone")
	}
	if len(p.names) > 0 {
		p.verdict = refused
		return
	}
	// How long a jitter may be depends on the interval, if there is one.
	p.accuse(slices.DeleteFunc(slices.Clone(choices), func(c choice) bool { return c.path == "jitter" }), invalid)
	if interval && p.length("jitter") >= p.length("snapshotInterval") {
		p.names = append(p.names, "spec.jitter")
	}
	switch {
	case len(p.names) > 0:
		p.verdict = invalid
	case p.spec["suspend"] == true:
		p.reason = "Suspended"
	case chosen["selector"].slug == "nothing":
		p.reason = "NoMatchingClaims"
	}
}

func (p *Plan) accuse(choices []choice, v verdict) {
	for _, c := range choices {
		if c.verdict == v {
			p.names = append(p.names, "spec."+c.path)
		}
	}
}

func (p *Plan) length(path string) time.Duration {
	text, _ := p.spec[path].(string)
	d, _ := model.ParseDuration(text)
	return time.Duration(d)
}
