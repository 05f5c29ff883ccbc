// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/jsonpath"
)

// The formats of -o that have a template after =, as in kubectl.
const (
	jsonPath      = "jsonpath"
	customColumns = "custom-columns"
	goTemplate    = "go-template"
)

var templates = []string{jsonPath, customColumns, goTemplate}

// checkFormat returns an error if a command has no such format. Every command with JSON takes templates of it.
func checkFormat(format string, formats []string) error {
	if format == "" || slices.Contains(formats, format) {
		return nil
	}
	kind, text, _ := strings.Cut(format, "=")
	if slices.Contains(templates, kind) && slices.Contains(formats, JSON) {
		if text == "" {
			return fmt.Errorf("-o %s needs a template: write it after =, such as -o %s=%s", kind, kind, map[string]string{
				jsonPath: "'{.items[*].name}'", customColumns: "NAME:.name", goTemplate: "'{{range .items}}{{.name}} {{end}}'",
			}[kind])
		}
		return nil
	}
	return fmt.Errorf("unknown output format %q: use one of %s", format, strings.Join(withTemplates(formats), ", "))
}

// withTemplates are all formats of a command.
func withTemplates(formats []string) []string {
	if slices.Contains(formats, JSON) {
		return append(slices.Clone(formats), jsonPath+"=…", customColumns+"=…", goTemplate+"=…")
	}
	return formats
}

// printTemplate prints a value by a template of its JSON. Its integers stay what they are: encoding/json would print 3.1536e+07.
func (o *Output) printTemplate(w io.Writer, text []byte) error {
	kind, format, _ := strings.Cut(o.Format, "=")
	value := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &value.Object); err != nil {
		return err
	}
	switch kind {
	case jsonPath:
		p, err := printers.NewJSONPathPrinter(format)
		if err != nil {
			return err
		}
		p.AllowMissingKeys(true)
		return p.PrintObj(value, w)
	case goTemplate: // kubectl's printer reads it with encoding/json once more
		t, err := template.New(goTemplate).Funcs(template.FuncMap{"exists": exists, "base64decode": base64decode}).Parse(format)
		if err != nil {
			return err
		}
		return t.Execute(w, value.Object)
	}
	return o.printColumns(w, format, rowsOf(value.Object))
}

// exists is kubectl's function: it returns whether a value has a field at a path.
func exists(value any, path ...any) bool {
	for _, at := range path {
		switch key := at.(type) {
		case string:
			fields, _ := value.(map[string]any)
			found, ok := fields[key]
			if !ok {
				return false
			}
			value = found
		case int:
			items, _ := value.([]any)
			if key < 0 || key >= len(items) {
				return false
			}
			value = items[key]
		default:
			return false
		}
	}
	return true
}

// base64decode is kubectl's function.
func base64decode(text string) (string, error) {
	decoded, err := base64.StdEncoding.DecodeString(text)
	return string(decoded), err
}

// rowsOf are what custom columns are of: the items of a list, the PVCs of coverage, the verdicts on a snapshot, or else the one object.
func rowsOf(value map[string]any) []any {
	for _, field := range []string{"items", "persistentVolumeClaims", "verdicts"} {
		if rows, ok := value[field].([]any); ok {
			return rows
		}
	}
	return []any{value}
}

// printColumns prints a table with columns such as NAME:.name.
func (o *Output) printColumns(w io.Writer, columns string, rows []any) error {
	table := NewTable()
	cells := make([][]any, len(rows))
	for column := range strings.SplitSeq(columns, ",") {
		name, path, found := strings.Cut(column, ":")
		if !found {
			return fmt.Errorf("-o %s: %q is not a column such as NAME:.name", customColumns, column)
		}
		table.add(name)
		find := jsonpath.New(name).AllowMissingKeys(true)
		if err := find.Parse("{." + strings.TrimPrefix(strings.Trim(path, "{}"), ".") + "}"); err != nil {
			return fmt.Errorf("-o %s: %w", customColumns, err)
		}
		for i, row := range rows {
			found, err := find.FindResults(row)
			if err != nil {
				return fmt.Errorf("-o %s: %w", customColumns, err)
			}
			var values []string
			for _, one := range slices.Concat(found...) {
				values = append(values, fmt.Sprint(one.Interface()))
			}
			cells[i] = append(cells[i], strings.Join(values, ","))
		}
	}
	for _, row := range cells {
		table.Row(row...)
	}
	return o.PrintTable(w, table)
}
