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
	// invalid are the fields that the message of InvalidSpec must name; none if the
	// spec is valid.
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

// Plans returns every plan: each value of each field; each pair of fields with valid
// values; each kind of invalid value with a valid value of each other field, and
// with another invalid one.
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
			if !conflict(a.path, b.path) {
				add(a.nth(false, i+j), b.nth(false, j))
			}
		}
	}
	bad := invalidChoices(all)
	for i, b := range bad {
		for j, f := range all {
			if f.path != b.path && !conflict(f.path, b.path) {
				add(b, f.nth(false, i+j))
			}
		}
		add(b, bad[(i+1)%len(bad)])
	}
	return append(plans,
		Plan{ID: "specs:good", name: "every", spec: goodSpec(), reason: v1alpha1.ReasonScheduled},
		Plan{ID: "specs:name=63-characters", name: strings.Repeat("n", 63), spec: goodSpec(), reason: v1alpha1.ReasonScheduled},
	)
}

// nth returns one of the valid, or invalid, values in turn.
func (f field) nth(invalid bool, n int) choice {
	of := slices.DeleteFunc(slices.Clone(f.values), func(x value) bool { return x.invalid != invalid })
	return choice{f, of[n%len(of)]}
}

// invalidChoices returns the first invalid value of each field that has one.
func invalidChoices(all []field) []choice {
	var found []choice
	for _, f := range all {
		if slices.ContainsFunc(f.values, func(v value) bool { return v.invalid }) {
			found = append(found, f.nth(true, 0))
		}
	}
	return found
}

// conflict reports whether the API server refuses the two fields in one spec.
func conflict(a, b string) bool {
	both := []string{a, b}
	return slices.Contains(both, "snapshotInterval") && (slices.Contains(both, "schedule") || slices.Contains(both, "timeZone"))
}

func newPlan(choices ...choice) Plan {
	p := Plan{name: "every", spec: goodSpec(), reason: v1alpha1.ReasonScheduled}
	var slugs []string
	chosen := map[string]value{}
	for _, c := range choices {
		slugs = append(slugs, c.path+"="+c.slug)
		chosen[c.path] = c.value
	}
	p.ID = "specs:" + strings.Join(slugs, "+")
	_, schedule := chosen["schedule"]
	_, zone := chosen["timeZone"]
	if schedule || zone {
		delete(p.spec, "snapshotInterval")
		p.spec["schedule"] = "@daily"
	}
	for _, c := range choices {
		put(p.spec, c.value.value, strings.Split(c.path, ".")...)
	}
	p.expect(chosen, choices)
	return p
}

// put sets a copy of a value, because specs are modified.
func put(spec map[string]any, v any, path ...string) {
	if m, ok := v.(map[string]any); ok {
		v = maps.Clone(m)
	}
	if err := unstructured.SetNestedField(spec, v, path...); err != nil {
		panic(err) // the paths are constants of this package
	}
}

// expect sets what the contract says of the spec.
func (p *Plan) expect(chosen map[string]value, choices []choice) {
	for _, c := range choices {
		if c.invalid && c.path != "jitter" {
			p.invalid = append(p.invalid, "spec."+c.path)
		}
	}
	// The limit of a jitter is the interval, if there is one.
	if _, interval := p.spec["snapshotInterval"]; interval && p.duration("jitter") >= p.duration("snapshotInterval") {
		p.invalid = append(p.invalid, "spec.jitter")
	}
	switch {
	case p.spec["suspend"] == true:
		p.reason = v1alpha1.ReasonSuspended
	case chosen["selector"].slug == "nothing":
		p.reason = v1alpha1.ReasonNoMatchingClaims
	}
}

func (p *Plan) duration(path string) time.Duration {
	text, _ := p.spec[path].(string)
	d, _ := model.ParseDuration(text)
	return time.Duration(d)
}
