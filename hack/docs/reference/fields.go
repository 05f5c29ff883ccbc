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

// crd is what is read of the CustomResourceDefinition: of its first version.
type crd struct {
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
	Enum        []string            `json:"enum"`
	Minimum     *float64            `json:"minimum"`
	MaxItems    *int64              `json:"maxItems"`
	MaxEntries  *int64              `json:"maxProperties"`
	Required    []string            `json:"required"`
	Rules       []rule              `json:"x-kubernetes-validations"`
	Properties  map[string]property `json:"properties"`
	Items       *property           `json:"items"`
	Values      *property           `json:"additionalProperties"`
}

type rule struct{ Message string }

func readCRD(root string) (*crd, error) {
	path := filepath.Join(root, "config", "crd", "bases", v1alpha1.GroupName+"_snapshotschedules.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &crd{}
	if err := yaml.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(c.Spec.Versions) != 1 {
		return nil, fmt.Errorf("%s has %d versions; say which one to document", path, len(c.Spec.Versions))
	}
	return c, nil
}

func (c *crd) root() property { return c.Spec.Versions[0].Schema.OpenAPIV3Schema }

// fields is the table of all fields below a field of the object, in the order of
// the Go types.
func (c *crd) fields(name string) string {
	t, _ := reflect.TypeFor[v1alpha1.SnapshotSchedule]().FieldByName(strings.ToUpper(name[:1]) + name[1:])
	var rows [][]string
	top := c.root().Properties[name]
	if rules := rulesOf(t.Type, top); rules != "" {
		rows = append(rows, []string{code(name), "object", "", describe(name, top) + " " + rules, ""})
	}
	walk(name, t.Type, top, func(path string, t reflect.Type, p property) {
		meaning := describe(path[strings.LastIndex(path, ".")+1:], p)
		if rules := rulesOf(t, p); rules != "" {
			meaning += " " + rules
		}
		rows = append(rows, []string{code(path), typeName(t), defaultOf(p), meaning, code(examples[path])})
	})
	header := []string{"field", "type", "default", "meaning and rules", "example"}
	if name == "status" {
		header = []string{"field", "type", "meaning"}
		for i, row := range rows {
			rows[i] = []string{row[0], row[1], row[3]}
		}
	}
	return table(header, rows)
}

// walk visits the fields of an object of the API, in depth and in order.
func walk(path string, t reflect.Type, p property, visit func(string, reflect.Type, property)) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := path + "." + name
		schema := p.Properties[name]
		visit(inner, field.Type, schema)
		switch ft := field.Type; {
		case ft.Kind() == reflect.Struct && ours(ft):
			walk(inner, ft, schema, visit)
		case ft.Kind() == reflect.Slice && ours(ft.Elem()):
			walk(inner+"[]", ft.Elem(), *schema.Items, visit)
		}
	}
}

// ours tells the types of the API package from those of Kubernetes.
func ours(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[v1alpha1.SnapshotSchedule]().PkgPath()
}

func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[v1alpha1.Duration]():
		return "[duration](#durations)"
	case reflect.TypeFor[v1alpha1.CronLine]():
		return "[cron line](#cron-lines)"
	case reflect.TypeFor[metav1.LabelSelector]():
		return "label selector"
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

func defaultOf(p property) string {
	if p.Default == nil {
		return ""
	}
	if text, ok := p.Default.(string); ok {
		return code(text)
	}
	text, _ := json.Marshal(p.Default)
	return code(string(text))
}

// rulesOf says what the API server refuses, in its own words. The rules of
// durations and cron lines have paragraphs of their own.
func rulesOf(t reflect.Type, p property) string {
	var rules []string
	add := func(format string, args ...any) { rules = append(rules, fmt.Sprintf(format, args...)) }
	if len(p.Enum) > 0 {
		add("One of `%s`.", strings.Join(p.Enum, "`, `"))
	}
	if p.Minimum != nil {
		add("At least %v.", *p.Minimum)
	}
	if p.MaxItems != nil {
		add("At most %d items.", *p.MaxItems)
	}
	if p.MaxEntries != nil {
		add("At most %d entries.", *p.MaxEntries)
	}
	if t.Kind() == reflect.Struct || t.Kind() == reflect.Map || (!ours(t) && t.Kind() != reflect.Slice) {
		rules = append(rules, messages(p)...)
	}
	if p.Values != nil {
		for _, message := range messages(*p.Values) {
			add("Every value: %s", strings.ToLower(message[:1])+message[1:])
		}
	}
	return strings.Join(rules, " ")
}

// describe marks the field's name, which its description begins with.
func describe(name string, p property) string {
	if rest, ok := strings.CutPrefix(p.Description, name+" "); ok {
		return sentence(code(name) + " " + rest)
	}
	return sentence(p.Description)
}

func messages(p property) []string {
	all := make([]string, 0, len(p.Rules))
	for _, r := range p.Rules {
		all = append(all, sentence(r.Message))
	}
	return all
}

// rulesOf is the list of rules of one field.
func (c *crd) rulesOf(path ...string) string {
	p := c.root()
	for _, name := range path {
		p = p.Properties[name]
	}
	return "- " + strings.Join(messages(p), "\n- ") + "\n"
}

func (c *crd) columns() string {
	rows := make([][]string, 0, len(c.Spec.Versions[0].Columns))
	for _, col := range c.Spec.Versions[0].Columns {
		rows = append(rows, []string{code(col.Name), sentence(col.Description), code(col.JSONPath)})
	}
	return table([]string{"column", "meaning", "from"}, rows)
}
