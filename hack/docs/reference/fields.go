// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// crd is the part of a CustomResourceDefinition that the page describes.
type crd struct {
	kind reflect.Type
	Spec struct {
		Versions []struct {
			Columns []column `json:"additionalPrinterColumns"`
			Schema  struct {
				OpenAPIV3Schema property `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

type column struct{ Name, Type, Description, JSONPath string }

type property struct {
	Description string              `json:"description"`
	Default     any                 `json:"default"`
	Minimum     *float64            `json:"minimum"`
	Rules       []rule              `json:"x-kubernetes-validations"`
	Properties  map[string]property `json:"properties"`
	Items       *property           `json:"items"`
}

type rule struct{ Message string }

// readCRD reads the CRD of an API type.
func readCRD(root string, kind reflect.Type) (*crd, error) {
	path := filepath.Join(root, "config", "crd", "bases", v1alpha1.GroupName+"_"+strings.ToLower(kind.Name())+"s.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &crd{kind: kind}
	if err := yaml.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("decode %s: %w", path, err)
	}
	if len(c.Spec.Versions) != 1 {
		return nil, fmt.Errorf("%s has %d versions, but the page describes one", path, len(c.Spec.Versions))
	}
	return c, nil
}

func (c *crd) root() property { return c.Spec.Versions[0].Schema.OpenAPIV3Schema }

// fieldTable returns the table of all fields below a top-level field, in the order of
// the Go types. Defaults and examples have columns of their own on demand.
func (c *crd) fieldTable(name string, columns bool) string {
	header := []string{"field", "type", "meaning"}
	if columns {
		header = []string{"field", "type", "default", "meaning", "example"}
	}
	var rows [][]string
	t, _ := c.kind.FieldByName(strings.ToUpper(name[:1]) + name[1:])
	visitFields(name, t.Type, c.root().Properties[name], func(path string, t reflect.Type, p property) {
		text := firstParagraph(p)
		row := []string{code(path), typeName(t)}
		if columns {
			text, example, _ := strings.Cut(text, " Example: ")
			row = append(row, defaultValue(p), description(path, text, p), code(strings.TrimSuffix(example, ".")))
		} else {
			row = append(row, description(path, text, p))
		}
		rows = append(rows, row)
	})
	return markdownTable(header, rows)
}

// visitFields visits the fields of an API type depth-first, in their order.
func visitFields(path string, t reflect.Type, p property, visit func(string, reflect.Type, property)) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := path + "." + name
		schema := p.Properties[name]
		visit(inner, field.Type, schema)
		switch ft := field.Type; {
		case ft.Kind() == reflect.Pointer && isAPIType(ft.Elem()):
			visitFields(inner, ft.Elem(), schema, visit)
		case path != "spec" && ft == reflect.TypeFor[v1alpha1.SnapshotScheduleSpec](): // the template's, which has a table of its own
		case isAPIType(ft):
			visitFields(inner, ft, schema, visit)
		case ft.Kind() == reflect.Slice && isAPIType(ft.Elem()):
			visitFields(inner+"[]", ft.Elem(), *schema.Items, visit)
		}
	}
}

// isAPIType reports whether the API package defines the type, with fields.
func isAPIType(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[v1alpha1.SnapshotSchedule]().PkgPath()
}

func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[v1alpha1.Duration]():
		return "[duration](#durations)"
	case reflect.TypeFor[v1alpha1.CronLine]():
		return "[cron expression](#cron-expressions)"
	case reflect.TypeFor[metav1.Time]():
		return "time"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "list of " + typeName(t.Elem()) + "s"
	case reflect.Map:
		return "map of " + typeName(t.Elem()) + "s"
	case reflect.Struct:
		return "object"
	case reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.Bool:
		return "boolean"
	}
	return t.Kind().String()
}

func defaultValue(p property) string {
	if p.Default == nil {
		return ""
	}
	if text, ok := p.Default.(string); ok {
		return code(text)
	}
	text, _ := json.Marshal(p.Default)
	return code(string(text))
}

// description returns a field's description, without the default.
func description(path, text string, p property) string {
	if p.Default != nil {
		text = strings.Replace(text, fmt.Sprintf(" Default: %v.", p.Default), "", 1)
	}
	name := path[strings.LastIndex(path, ".")+1:]
	if rest, ok := strings.CutPrefix(text, name+" "); ok {
		text = code(name) + " " + rest
	}
	if p.Minimum != nil {
		text += fmt.Sprintf(" At least %v", *p.Minimum)
	}
	return sentence(text)
}

// firstParagraph leaves out the paragraph that defines the syntax of durations, for
// which the page has a section.
func firstParagraph(p property) string {
	text, _, _ := strings.Cut(p.Description, "\n\n")
	return strings.Join(strings.Fields(text), " ")
}

// ruleList returns the messages of a field's validation rules as a list.
func (c *crd) ruleList(path ...string) string {
	p := c.root()
	for _, name := range path {
		p = p.Properties[name]
	}
	var list strings.Builder
	for _, r := range p.Rules {
		list.WriteString("- " + sentence(r.Message) + "\n")
	}
	return list.String()
}

func (c *crd) columnTable() string {
	rows := make([][]string, 0, len(c.Spec.Versions[0].Columns))
	for _, col := range c.Spec.Versions[0].Columns {
		rows = append(rows, []string{code(col.Name), sentence(col.Description), code(col.JSONPath)})
	}
	return markdownTable([]string{"column", "meaning", "source"}, rows)
}
