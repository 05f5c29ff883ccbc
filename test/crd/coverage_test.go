// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// rule is one thing that the schema demands: where, and what is said if it isn't met.
type rule struct{ path, says string }

// upstream are the schemas that come with apimachinery's types, and are tried there.
var upstream = map[string]bool{"status.conditions": true}

// schemaRules are all rules of the schema at a path and below it.
func schemaRules(path string, s *apiextensionsv1.JSONSchemaProps) []rule {
	if upstream[path] {
		return nil
	}
	child := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }

	var rules []rule
	add := func(path, format string, args ...any) {
		rules = append(rules, rule{path, fmt.Sprintf(format, args...)})
	}
	for _, validation := range s.XValidations {
		where := path + validation.FieldPath
		if where == "" {
			where = "<nil>" // how the API server writes the root
		}
		add(where, "%s", validation.Message)
	}
	for _, name := range s.Required {
		add(child(name), "Required value")
	}
	if s.Minimum != nil {
		add(path, "should be greater than or equal to %v", *s.Minimum)
	}
	if s.Maximum != nil {
		add(path, "should be less than or equal to %v", *s.Maximum)
	}
	if s.MinLength != nil {
		add(path, "should be at least %d chars long", *s.MinLength)
	}
	if s.MaxLength != nil {
		add(path, "may not be more than %d bytes", *s.MaxLength)
	}
	if s.MaxItems != nil {
		add(path, "must have at most %d items", *s.MaxItems)
	}
	if s.MaxProperties != nil {
		add(path, "must have at most %d items", *s.MaxProperties)
	}
	if s.Pattern != "" {
		add(path, "should match '%s'", s.Pattern)
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, value := range s.Enum {
			values = append(values, string(value.Raw))
		}
		add(path, "supported values: %s", strings.Join(values, ", "))
	}

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

func storedSchema(t *testing.T) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	content, err := os.ReadFile(crdFile)
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(content, &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// TestEveryRuleIsTried fails for a rule that no case of TestRefused or TestRefusedStatus meets.
//
// Contract: API-1.
func TestEveryRuleIsTried(t *testing.T) {
	var tried []refusal
	for _, tc := range refusedSchedules() {
		tried = append(tried, tc.want...)
	}
	for _, tc := range refusedStatuses() {
		tried = append(tried, tc.want)
	}

	rules := schemaRules("", storedSchema(t))
	if len(rules) < 50 {
		t.Fatalf("only %d rules found: the schema was not read rightly", len(rules))
	}
	for _, rule := range rules {
		// The server writes an entry of a map as .key or [key].
		path := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(rule.path), `\[\*\]`, `(\[[^]]+\]|\.[^.]+)`) + "$")
		found := false
		for _, r := range tried {
			if path.MatchString(r.field) && strings.Contains(rule.says, r.says) {
				found = true
				break
			}
		}
		if !found {
			t.Errorf("no case meets the rule of %s that says %q", rule.path, rule.says)
		}
	}
}

// TestMessagesShowARightValue holds the messages to their promise.
//
// Contract: API-1.
func TestMessagesShowARightValue(t *testing.T) {
	for _, rule := range celRules("", storedSchema(t)) {
		if !strings.Contains(rule.says, "such as") && !strings.Contains(rule.says, "one of") {
			t.Errorf("the rule of %s shows no right value: %q", rule.path, rule.says)
		}
	}
}

// celRules are the rules of the schema that have a message of their own.
func celRules(path string, s *apiextensionsv1.JSONSchemaProps) []rule {
	var rules []rule
	for _, validation := range s.XValidations {
		rules = append(rules, rule{path, validation.Message})
	}
	for name, property := range s.Properties {
		rules = append(rules, celRules(path+"."+name, &property)...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		rules = append(rules, celRules(path+"[*]", s.Items.Schema)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		rules = append(rules, celRules(path+"[*]", s.AdditionalProperties.Schema)...)
	}
	return rules
}
