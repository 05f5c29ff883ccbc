// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// field is a field as kubectl explain shows it.
type field struct {
	path, name string
	required   bool
	schema     apiextensionsv1.JSONSchemaProps
}

// text returns the description on one line.
func (f field) text() string { return strings.Join(strings.Fields(f.schema.Description), " ") }

// fieldsBelow returns the fields below a path, except those of conditions, which apimachinery describes.
func fieldsBelow(path string, s *apiextensionsv1.JSONSchemaProps) (all []field) {
	for name, property := range s.Properties {
		inner := path + "." + name
		all = append(all, field{inner, name, slices.Contains(s.Required, name), property})
		if inner == "status.conditions" {
			continue
		}
		all = append(all, fieldsBelow(inner, &property)...)
		if property.Items != nil {
			all = append(all, fieldsBelow(inner+"[]", property.Items.Schema)...)
		}
	}
	return all
}

// What is written in these texts cannot be tested. Whether it is written can.
var _ = Describe("kubectl explain", func() {
	fields := func(plural string) (spec, status []field) {
		GinkgoHelper()
		properties := readSchema(plural).Properties
		for name, found := range map[string]*[]field{"spec": &spec, "status": &status} {
			top := properties[name]
			*found = fieldsBelow(name, &top)
			Expect(len(*found)).To(BeNumerically(">", 15), "the schema was not parsed correctly")
		}
		return spec, status
	}
	both := []TableEntry{Entry(nil, "snapshotschedules"), Entry(nil, "clustersnapshotschedules")}

	DescribeTable("has a text with an example for every field", func(plural string) {
		spec, status := fields(plural)
		for _, f := range append(spec, status...) {
			// A status shows what its objects look like.
			object := strings.HasPrefix(f.path, "status.") && (f.schema.Properties != nil || f.name == "conditions")
			if !object {
				Expect(f.text()).To(ContainSubstring(" Example: "), f.path)
			}
			Expect(f.text()).To(HavePrefix(f.name+" "), f.path)
		}
	}, both)

	DescribeTable("says of every optional field of the spec what holds without it", func(plural string) {
		spec, _ := fields(plural)
		for _, f := range spec {
			if f.required {
				continue
			}
			if f.schema.Default != nil && f.schema.Properties == nil {
				Expect(f.text()).To(ContainSubstring(fmt.Sprintf(" Default: %s. ", strings.Trim(string(f.schema.Default.Raw), `"`))), f.path)
				continue
			}
			Expect(f.text()).To(Or(ContainSubstring("omitted"), ContainSubstring(" Default: "), ContainSubstring("Set exactly one of ")), f.path)
		}
	}, both)

	It("gives the syntax of durations for every duration", func() {
		spec, _ := fields("snapshotschedules")
		for path := range durationFields {
			i := slices.IndexFunc(spec, func(f field) bool { return f.path == path })
			Expect(i).To(BeNumerically(">=", 0), path)
			Expect(spec[i].text()).To(And(ContainSubstring("units y, w, d, h, m and s, largest unit first"), ContainSubstring("1d12h"),
				ContainSubstring("The minimum is 1s, the maximum 100y.")), path)
		}
	})
})
