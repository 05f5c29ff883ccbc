// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// required is a part of the message about a field that is left out.
const required = "Required value"

// long returns a string of n letters.
func long(n int) string { return strings.Repeat("a", n) }

// list returns a YAML list of n equal items.
func list(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+", ", n), ", ") + "]"
}

// entries returns a YAML map with n entries, whose keys begin with the prefix.
func entries(n int, prefix, value string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s%02d: %s", prefix, i, value))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// rejected is an object that the API server must reject for one cause, with a part of its message: a valid one with another value
// of one field, or without it.
type rejected struct {
	kind, field string
	value       json.RawMessage // in JSON; nil stands for no value
	want        cause
}

// group is an entry of testdata/rejected.yaml.
type group struct {
	Fields []string // kinds and paths
	Cases  map[string]struct {
		Value              json.RawMessage
		At, Below, Message string
	}
}

// unmarshal reads a file of testdata, which is a template.
func unmarshal[T any](name string) (content T) {
	GinkgoHelper()
	funcs := template.FuncMap{"long": long, "list": list, "entries": entries, "repeat": strings.Repeat, "conditions": conditions}
	var text strings.Builder
	Expect(suite.Must(template.New("").Funcs(funcs).Parse(testdata(name))).Execute(&text, nil)).To(Succeed())
	Expect(yaml.UnmarshalStrict([]byte(text.String()), &content)).To(Succeed())
	return content
}

// allRejected returns all objects that must be rejected. Together they violate every rule of the schemas (schema_test.go).
func allRejected() map[string]rejected {
	GinkgoHelper()
	all := map[string]rejected{}
	add := func(name string, r rejected) {
		name = fmt.Sprintf("%s %s: %s", r.kind, r.field, name)
		Expect(all).NotTo(HaveKey(name))
		all[name] = r
	}
	for _, g := range unmarshal[[]group]("rejected") {
		for _, of := range g.Fields {
			kind, field, _ := strings.Cut(of, " ")
			for name, c := range g.Cases {
				add(name, rejected{kind, field, c.Value, cause{cmp.Or(c.At, field+c.Below), c.Message}})
			}
		}
	}
	addTexts := func(field string, texts map[string][]string) {
		for message, invalid := range texts {
			for _, text := range invalid {
				add(fmt.Sprintf("%q", text), rejected{schedule, field, suite.Must(json.Marshal(text)), cause{field, message}})
			}
		}
	}
	addTexts("spec.schedule", cronLines().Invalid)
	addTexts(durationFields[0], durations().Invalid)
	return all
}
