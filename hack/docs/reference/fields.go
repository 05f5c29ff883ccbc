// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
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

// fieldTable returns the table of all fields below a top-level field, in the order of
// the Go types. Defaults and examples have columns of their own on demand.
func (c *crd) fieldTable(name string, columns bool) string {
	header := []string{"field", "type", "meaning"}
	if columns {
		header = []string{"field", "type", "default", "meaning", "example"}
	}
	var rows [][]string
	t, _ := c.kind.FieldByName(strings.ToUpper(name[:1]) + name[1:])
	visitFields(name, t.Type, c.root.Properties[name], func(path string, t reflect.Type, p property) {
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
			visitFields(inner+"[]", ft.Elem(), *schema.Items.Schema, visit)
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
	return code(strings.Trim(string(p.Default.Raw), `"`))
}

// description returns a field's description, without the default.
func description(path, text string, p property) string {
	if p.Default != nil {
		text = strings.Replace(text, fmt.Sprintf(" Default: %s.", strings.Trim(string(p.Default.Raw), `"`)), "", 1)
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
	p := c.root
	for _, name := range path {
		p = p.Properties[name]
	}
	var list strings.Builder
	for _, r := range p.XValidations {
		list.WriteString("- " + sentence(r.Message) + "\n")
	}
	return list.String()
}

func (c *crd) columnTable() string {
	rows := make([][]string, 0, len(c.columns))
	for _, col := range c.columns {
		rows = append(rows, []string{code(col.Name), sentence(col.Description), code(col.JSONPath)})
	}
	return markdownTable([]string{"column", "meaning", "source"}, rows)
}
