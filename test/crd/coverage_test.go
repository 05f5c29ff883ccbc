// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// rule is one constraint of the schema.
type rule struct {
	path string
	// message is what the API server says if the constraint is violated, or a part of it.
	message string
	// cel means that the message is our own.
	cel bool
}

// upstream are schemas that come with apimachinery's types, and are tested there.
var upstream = map[string]bool{"status.conditions[*]": true}

// schemaRules returns all rules of the schema at a path and below it.
func schemaRules(path string, s *apiextensionsv1.JSONSchemaProps) []rule {
	if upstream[path] {
		return nil
	}
	child := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }

	var rules []rule
	for _, validation := range s.XValidations {
		// The API server writes the root as <nil>.
		rules = append(rules, rule{path: cmp.Or(path+validation.FieldPath, "<nil>"), message: validation.Message, cel: true})
	}
	for _, name := range s.Required {
		rules = append(rules, rule{path: child(name), message: required})
	}
	add := func(format string, limit any) {
		rules = append(rules, rule{path: path, message: fmt.Sprintf(format, limit)})
	}
	if s.Minimum != nil {
		add("should be greater than or equal to %v", *s.Minimum)
	}
	if s.Maximum != nil {
		add("should be less than or equal to %d", int64(*s.Maximum))
	}
	if s.MinLength != nil {
		add("should be at least %d chars long", *s.MinLength)
	}
	if s.MaxLength != nil {
		add("may not be more than %d bytes", *s.MaxLength)
	}
	for _, limit := range []*int64{s.MaxItems, s.MaxProperties} {
		if limit != nil {
			add("must have at most %d items", *limit)
		}
	}
	if s.Pattern != "" {
		add("should match '%s'", s.Pattern)
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, value := range s.Enum {
			values = append(values, string(value.Raw))
		}
		add("supported values: %s", strings.Join(values, ", "))
	}
	return append(rules, innerRules(path, child, s)...)
}

func innerRules(path string, child func(string) string, s *apiextensionsv1.JSONSchemaProps) (rules []rule) {
	for name, property := range s.Properties {
		rules = append(rules, schemaRules(child(name), &property)...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		rules = append(rules, schemaRules(path+"[*]", s.Items.Schema)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		rules = append(rules, schemaRules(path+"[*]", s.AdditionalProperties.Schema)...)
	}
	return rules
}

// boundedElsewhere are the paths that need no bound: a rule of the map bounds its values, or the API server those of every object.
var boundedElsewhere = []string{
	"spec.snapshotTemplate.metadata.annotations[*]", "spec.template.spec.snapshotTemplate.metadata.annotations[*]",
	"spec.template.metadata.annotations[*]", "apiVersion", "kind", "metadata",
}

// unbounded returns the paths of strings, lists and maps that may be of any size.
func unbounded(path string, s *apiextensionsv1.JSONSchemaProps) (found []string) {
	if upstream[path] || slices.Contains(boundedElsewhere, path) {
		return nil
	}
	switch {
	case s.Type == "string" && s.MaxLength == nil && len(s.Enum) == 0 && s.Format != "date-time",
		s.Type == "array" && s.MaxItems == nil,
		s.AdditionalProperties != nil && s.MaxProperties == nil:
		found = append(found, path)
	}
	for name, property := range s.Properties {
		found = append(found, unbounded(strings.TrimPrefix(path+"."+name, "."), &property)...)
	}
	if s.Items != nil {
		found = append(found, unbounded(path+"[*]", s.Items.Schema)...)
	}
	if s.AdditionalProperties != nil {
		found = append(found, unbounded(path+"[*]", s.AdditionalProperties.Schema)...)
	}
	return found
}

// violatedBy returns whether the API server answers this cause if the rule is violated.
func (r rule) violatedBy(c cause) bool {
	// The API server writes an entry of a map as .key or [key].
	path := strings.ReplaceAll(regexp.QuoteMeta(r.path), `\[\*\]`, `(\[[^]]+\]|\.[^.]+)`)
	return regexp.MustCompile("^"+path+"$").MatchString(c.Field) && strings.Contains(c.Message, r.message)
}

var _ = Describe("The schema", func() {
	var schema *apiextensionsv1.JSONSchemaProps
	var rules []rule
	BeforeEach(func() {
		schema = readSchema("snapshotschedules")
		rules = schemaRules("", schema)
		Expect(len(rules)).To(BeNumerically(">=", 50), "the schema was not parsed correctly")
	})

	// Contract: API-1.
	It("has no rule without a case that violates it", func() {
		var causes []cause
		for _, r := range rejectedSpecs() {
			causes = append(causes, causesOf(r.send())...)
		}
		object := create("coverage", "{snapshotInterval: 6h}")
		for _, r := range rejectedStatuses() {
			causes = append(causes, statusCausesOf(patchStatus(object.DeepCopy(), parseYAML(r.status)))...)
		}
		for _, rule := range rules {
			Expect(slices.ContainsFunc(causes, rule.violatedBy)).To(BeTrue(), "no case violates the rule of %s: %s", rule.path, rule.message)
		}
	})

	It("bounds every string, list and map, as does that of a ClusterSnapshotSchedule", func() {
		Expect(unbounded("", schema)).To(BeEmpty())
		Expect(unbounded("", readSchema("clustersnapshotschedules"))).To(BeEmpty())
	})

	// Contract: API-1.
	It("has no message that shows no valid value", func() {
		for _, rule := range rules {
			if rule.cel {
				Expect(rule.message).To(MatchRegexp("such as|for example|one of"), rule.path)
			}
		}
	})
})
