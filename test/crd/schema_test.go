// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// fieldSchema is the schema of a field, with what its parent says of it.
type fieldSchema struct {
	*apiextensionsv1.JSONSchemaProps

	required bool
}

// text returns the description on one line, as kubectl explain shows it.
func (f fieldSchema) text() string { return strings.Join(strings.Fields(f.Description), " ") }

// fieldsOf returns the fields of a kind by their paths, where [*] is an entry of a list or map. It leaves out the fields of conditions,
// which come from apimachinery and are tested there.
func fieldsOf(kind string) map[string]fieldSchema {
	GinkgoHelper()
	content := suite.Must(os.ReadFile(filepath.Join(crdsDir, v1alpha1.GroupName+"_"+strings.ToLower(kind)+"s.yaml")))
	var crd apiextensionsv1.CustomResourceDefinition
	Expect(yaml.Unmarshal(content, &crd)).To(Succeed())
	fields := map[string]fieldSchema{}
	var add func(path string, s *apiextensionsv1.JSONSchemaProps, required bool)
	add = func(path string, s *apiextensionsv1.JSONSchemaProps, required bool) {
		if path == "status.conditions[*]" {
			return
		}
		fields[path] = fieldSchema{s, required}
		for name, property := range s.Properties {
			add(strings.TrimPrefix(path+"."+name, "."), &property, slices.Contains(s.Required, name))
		}
		if s.Items != nil {
			add(path+"[*]", s.Items.Schema, false)
		}
		if s.AdditionalProperties != nil {
			add(path+"[*]", s.AdditionalProperties.Schema, false)
		}
	}
	add("", crd.Spec.Versions[0].Schema.OpenAPIV3Schema, false)
	Expect(len(fields)).To(BeNumerically(">", 40), "the schema was not parsed correctly")
	return fields
}

// rule is one constraint of the schema.
type rule struct {
	path string
	// message is what the API server says if the constraint is violated, or a part of it.
	message string
	// cel means that the message is our own.
	cel bool
}

// rules returns the constraints of a field.
func (f fieldSchema) rules(path string) (rules []rule) {
	for _, validation := range f.XValidations {
		// The API server writes the root as <nil>.
		rules = append(rules, rule{path: cmp.Or(path+validation.FieldPath, "<nil>"), message: validation.Message, cel: true})
	}
	add := func(format string, limit any) {
		rules = append(rules, rule{path: path, message: fmt.Sprintf(format, limit)})
	}
	if f.required {
		add("%s", required)
	}
	if f.Minimum != nil {
		add("should be greater than or equal to %v", *f.Minimum)
	}
	if f.Maximum != nil {
		add("should be less than or equal to %d", int64(*f.Maximum))
	}
	if f.MinLength != nil {
		add("should be at least %d chars long", *f.MinLength)
	}
	if f.MaxLength != nil {
		add("may not be more than %d bytes", *f.MaxLength)
	}
	if limit := cmp.Or(f.MaxItems, f.MaxProperties); limit != nil {
		add("must have at most %d items", *limit)
	}
	if f.Pattern != "" {
		add("should match '%s'", f.Pattern)
	}
	if len(f.Enum) > 0 {
		var values []string
		for _, value := range f.Enum {
			values = append(values, string(value.Raw))
		}
		add("supported values: %s", strings.Join(values, ", "))
	}
	return rules
}

// violatedBy returns whether the API server answers this cause if the rule is violated.
func (r rule) violatedBy(c cause) bool {
	// The API server writes an entry of a map as .key or [key].
	path := strings.ReplaceAll(regexp.QuoteMeta(r.path), `\[\*\]`, `(\[[^]]+\]|\.[^.]+)`)
	return regexp.MustCompile("^"+path+"$").MatchString(c.Field) && strings.Contains(c.Message, r.message)
}

var _ = Describe("The schemas", func() {
	// shared are the parts of a ClusterSnapshotSchedule that are those of a SnapshotSchedule, which are tested.
	shared := map[string]string{"spec.template.spec": "spec", "spec.namespaceSelector": "spec.selector"}

	isShared := func(path, message string) bool {
		for part := range shared {
			if strings.HasPrefix(path, part+".") || path == part && message != required {
				return true
			}
		}
		return false
	}

	// Contract: API-1, FLEET-7.
	It("have no rule without a case that violates it, and no message that shows no valid value", func() {
		causes := map[string][]cause{}
		for _, r := range allRejected() {
			causes[r.kind] = append(causes[r.kind], r.send()...)
		}
		for _, kind := range []string{schedule, fleet} {
			for path, f := range fieldsOf(kind) {
				for _, r := range f.rules(path) {
					if r.cel {
						Expect(r.message).To(MatchRegexp("such as|for example|one of"), path)
					}
					if kind == fleet && isShared(path, r.message) {
						continue
					}
					Expect(slices.ContainsFunc(causes[kind], r.violatedBy)).To(BeTrue(), "no case violates the rule of %s: %s", r.path, r.message)
				}
			}
		}
	})

	// Contract: FLEET-7.
	It("are the same for the template of a ClusterSnapshotSchedule, and for its selector", func() {
		ours, theirs := fieldsOf(fleet), fieldsOf(schedule)
		for path, of := range shared {
			got, want := *ours[path].JSONSchemaProps, *theirs[of].JSONSchemaProps
			got.Description, want.Description = "", ""
			Expect(got).To(Equal(want), path)
		}
	})

	It("have the same rules and text about syntax for every duration", func() {
		fields := fieldsOf(schedule)
		first := fields[durationFields[0]]
		for _, path := range durationFields {
			Expect(fields[path].XValidations).To(Equal(first.XValidations), path)
			if strings.HasPrefix(path, "spec.") {
				Expect(fields[path].text()).To(And(ContainSubstring("units y, w, d, h, m and s, largest unit first"), ContainSubstring("1d12h"),
					ContainSubstring("The minimum is 1s, the maximum 100y.")), path)
			}
		}
	})

	It("bound every string, list and map", func() {
		for _, kind := range []string{schedule, fleet} {
			for path, s := range fieldsOf(kind) {
				// A rule of the map bounds annotations, and the API server bounds what every object has.
				if strings.HasSuffix(path, ".annotations[*]") || slices.Contains([]string{"apiVersion", "kind"}, path) {
					continue
				}
				Expect(s.Type == "string" && s.MaxLength == nil && len(s.Enum) == 0 && s.Format != "date-time" ||
					s.Type == "array" && s.MaxItems == nil ||
					s.AdditionalProperties != nil && s.MaxProperties == nil).To(BeFalse(), path)
			}
		}
	})

	// What is written in these texts cannot be tested. Whether it is written can.
	DescribeTable("explain each field, with an example, and what holds without it", func(kind string) {
		for path, f := range fieldsOf(kind) {
			name := path[strings.LastIndex(path, ".")+1:]
			inStatus := strings.HasPrefix(path, "status.")
			if strings.HasSuffix(path, "[*]") || !inStatus && !strings.HasPrefix(path, "spec.") {
				continue
			}
			Expect(f.text()).To(HavePrefix(name+" "), path)
			// A status shows what its objects look like.
			if !inStatus || f.Properties == nil && name != "conditions" {
				Expect(f.text()).To(ContainSubstring(" Example: "), path)
			}
			switch {
			case inStatus || f.required:
			case f.Default != nil && f.Properties == nil:
				Expect(f.text()).To(ContainSubstring(fmt.Sprintf(" Default: %s. ", strings.Trim(string(f.Default.Raw), `"`))), path)
			default:
				Expect(f.text()).To(Or(ContainSubstring("omitted"), ContainSubstring(" Default: "), ContainSubstring("Set exactly one of ")), path)
			}
		}
	}, Entry(nil, schedule), Entry(nil, fleet))
})
