// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// crd is the CustomResourceDefinition of an API type.
type crd struct {
	kind    reflect.Type
	columns []apiextensionsv1.CustomResourceColumnDefinition
	root    property
}

type property = apiextensionsv1.JSONSchemaProps

// readCRD reads the CRD of an API type.
func readCRD(root string, kind reflect.Type) (*crd, error) {
	path := filepath.Join(root, "config", "crd", "bases", v1alpha1.GroupName+"_"+strings.ToLower(kind.Name())+"s.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var d apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		return nil, fmt.Errorf("decode %s: %w", path, err)
	}
	if len(d.Spec.Versions) != 1 {
		return nil, fmt.Errorf("%s has %d versions, but the page describes one", path, len(d.Spec.Versions))
	}
	v := &d.Spec.Versions[0]
	return &crd{kind: kind, columns: v.AdditionalPrinterColumns, root: *v.Schema.OpenAPIV3Schema}, nil
}

// links are where the fields of each API type are described, so that no page describes them again.
type links map[reflect.Type]string

// spec returns what is said of the fields below spec, in the order of the Go types: a section for each of its own fields that is on
// the page, and a list of the fields below these.
func (known links) spec(c *crd, page string, isThere func(field string) bool) string {
	var text strings.Builder
	t, _ := c.kind.FieldByName("Spec")
	if known[t.Type] == "" {
		known[t.Type] = "[`spec`](" + page + "#spec)"
	}
	for field := range t.Type.Fields() {
		if !isThere(jsonName(field)) {
			continue
		}
		path := "spec." + jsonName(field)
		schema := c.root.Properties["spec"].Properties[jsonName(field)]
		fmt.Fprintf(&text, "\n### `%s`\n\n%s\n\n", path, description(jsonName(field), field.Type, schema))
		known.list(&text, path, field.Type, schema, page+"#"+strings.ToLower(strings.ReplaceAll(path, ".", "")))
	}
	return text.String()
}

// status returns the list of the fields below status, without examples.
func (known links) status(c *crd, page string) string {
	var text strings.Builder
	t, _ := c.kind.FieldByName("Status")
	known.list(&text, "status", t.Type, c.root.Properties["status"], page+"#status")
	return regexp.MustCompile(" Example: `.*`\\.\n").ReplaceAllString(text.String(), "\n")
}

// list lists the fields of a type below a path, which are described at an address.
func (known links) list(text *strings.Builder, path string, t reflect.Type, schema property, address string) {
	if t.Kind() == reflect.Slice {
		t, path = t.Elem(), path+"[]"
		schema = *schema.Items.Schema
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case !isAPIType(t):
		return
	case known[t] != "":
		fmt.Fprintf(text, "- The fields of `%s` are those of %s.\n", path, known[t])
		return
	}
	known[t] = "[`" + path + "`](" + address + ")"
	for field := range t.Fields() {
		inner, schema := path+"."+jsonName(field), schema.Properties[jsonName(field)]
		text.WriteString("- " + description(inner, field.Type, schema) + "\n")
		known.list(text, inner, field.Type, schema, address)
	}
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// isAPIType reports whether the API package defines the type, with fields.
func isAPIType(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[v1alpha1.SnapshotSchedule]().PkgPath()
}

func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[v1alpha1.Duration]():
		return "[duration](snapshotschedule.md#durations)"
	case reflect.TypeFor[v1alpha1.CronLine]():
		return "[cron expression](snapshotschedule.md#cron-expressions)"
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

// description returns what the schema says of a field, which is called by its path or a shorter name. It leaves out the paragraph
// that defines the syntax of durations, for which a page has a section.
func description(path string, t reflect.Type, p property) string {
	text, _, _ := strings.Cut(p.Description, "\n\n")
	text = strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
	if before, example, found := strings.Cut(text, " Example: "); found {
		text = before + " Example: " + code(example)
	}
	_, rest, _ := strings.Cut(text, " ") // the name
	name, kind := code(path), typeName(t)
	if p.Minimum != nil && *p.Minimum > 0 {
		kind += fmt.Sprintf(", at least %v", *p.Minimum)
	}
	if kind != "object" {
		name += " (" + kind + ")"
	}
	return name + " " + rest + "."
}

func (c *crd) columnTable() string {
	rows := make([][]string, 0, len(c.columns))
	for _, col := range c.columns {
		rows = append(rows, []string{code(col.Name), sentence(col.Description)})
	}
	return markdownTable([]string{"column", "meaning"}, rows)
}
