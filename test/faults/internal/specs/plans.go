// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package specs makes workloads of the boundary values of every spec field, one or two in each. Values that the API server refuses
// are tested in test/crd.
package specs

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Plan is one spec.
type Plan struct {
	// ID is stable: it consists of the fields and their values.
	ID   string
	name string
	spec map[string]any
	// invalid are the fields that the message of InvalidSpec must name; none if the spec is valid.
	invalid []string
	// reason of condition Ready, if the spec is valid.
	reason string
}

// choice is a field with one of its values.
type choice struct {
	field
	value
}

// goodSpec is the spec that all others are variations of.
func goodSpec() map[string]any {
	return map[string]any{"snapshotInterval": "6h", "snapshotTTL": "10d"}
}

// Plans returns every plan: each value of each field; each pair of fields with valid values; each kind of invalid value with a valid
// value of each other field, and with another invalid one.
func Plans() []Plan {
	var plans []Plan
	add := func(choices ...choice) { plans = append(plans, newPlan(choices...)) }
	all := fields()
	var bad []choice // the first invalid value of each field that has one
	for _, f := range all {
		for _, v := range f.values {
			add(choice{f, v})
		}
		if i := slices.IndexFunc(f.values, func(v value) bool { return v.invalid }); i >= 0 {
			bad = append(bad, choice{f, f.values[i]})
		}
	}
	for i, a := range all {
		for j, b := range all[i+1:] {
			if !conflict(a.path, b.path) {
				add(a.valid(i+j), b.valid(j))
			}
		}
	}
	for i, b := range bad {
		for j, f := range all {
			if f.path != b.path && !conflict(f.path, b.path) {
				add(b, f.valid(i+j))
			}
		}
		add(b, bad[(i+1)%len(bad)])
	}
	long := newPlan()
	long.ID, long.name = "specs:name=63-characters", strings.Repeat("n", 63)
	return append(plans, newPlan(), long)
}

// valid returns one of the valid values in turn. They come before the invalid ones.
func (f field) valid(n int) choice {
	valid := slices.IndexFunc(append(f.values, value{invalid: true}), func(v value) bool { return v.invalid })
	return choice{f, f.values[n%valid]}
}

// conflict reports whether the API server refuses the two fields in one spec.
func conflict(a, b string) bool {
	both := []string{a, b}
	return slices.Contains(both, "snapshotInterval") && (slices.Contains(both, "schedule") || slices.Contains(both, "timeZone"))
}

// newPlan returns the plan of the good spec with these values, and what the contract says of it.
func newPlan(choices ...choice) Plan {
	p := Plan{ID: "specs:good", name: "every", spec: goodSpec(), reason: v1alpha1.ReasonScheduled}
	var slugs []string
	for _, c := range choices {
		slugs = append(slugs, c.path+"="+c.slug)
		if c.path == "schedule" || c.path == "timeZone" {
			delete(p.spec, "snapshotInterval")
			p.spec["schedule"] = "@daily"
		}
	}
	if len(slugs) > 0 {
		p.ID = "specs:" + strings.Join(slugs, "+")
	}
	for _, c := range choices {
		v := c.value.value
		if m, ok := v.(map[string]any); ok {
			v = maps.Clone(m) // specs are modified
		}
		if err := unstructured.SetNestedField(p.spec, v, strings.Split(c.path, ".")...); err != nil {
			panic(err) // the paths are constants of this package
		}
		switch {
		case c.invalid && c.path != "jitter":
			p.invalid = append(p.invalid, "spec."+c.path)
		case c.slug == "nothing" && p.reason == v1alpha1.ReasonScheduled:
			p.reason = v1alpha1.ReasonNoMatchingClaims
		case c.path == "suspend" && c.value.value == true:
			p.reason = v1alpha1.ReasonSuspended
		}
	}
	// The limit of a jitter is the interval, if there is one.
	if _, interval := p.spec["snapshotInterval"]; interval && p.duration("jitter") >= p.duration("snapshotInterval") {
		p.invalid = append(p.invalid, "spec.jitter")
	}
	return p
}

func (p *Plan) duration(path string) time.Duration {
	text, _ := p.spec[path].(string)
	d, _ := model.ParseDuration(text)
	return time.Duration(d)
}
