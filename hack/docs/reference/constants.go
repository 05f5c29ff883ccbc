// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// constant is a documented Go constant.
type constant struct{ goName, value, doc string }

// constantGroup is a const declaration with its doc comment.
type constantGroup struct {
	doc       string
	constants []constant
}

type constantGroups []constantGroup

// readAPIConstants reads the string constants of the API package.
func readAPIConstants(root string) (constantGroups, error) {
	dir := filepath.Join(root, "api", "v1alpha1")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found constantGroups
	values := map[string]string{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		groups, err := parseConstants(filepath.Join(dir, entry.Name()), values)
		if err != nil {
			return nil, err
		}
		found = append(found, groups...)
	}
	found.resolve(values)
	return found, nil
}

// parseConstants returns the constants of a file. It adds their values to the map,
// with references to other constants as ${name}.
func parseConstants(path string, values map[string]string) (constantGroups, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var found constantGroups
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			continue
		}
		group := constantGroup{doc: decl.Doc.Text()}
		for _, s := range decl.Specs {
			spec := s.(*ast.ValueSpec)
			if len(spec.Names) != 1 {
				return nil, fmt.Errorf("%s: declare %s on a line of its own", path, spec.Names[0].Name)
			}
			c := constant{goName: spec.Names[0].Name, doc: spec.Doc.Text()}
			if c.doc == "" {
				c.doc = group.doc
			}
			if len(spec.Values) == 1 {
				values[c.goName] = stringValue(spec.Values[0])
			}
			group.constants = append(group.constants, c)
		}
		found = append(found, group)
	}
	return found, nil
}

// stringValue returns the value of a string expression, with references to other
// constants as ${name}.
func stringValue(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		unquoted, _ := strconv.Unquote(e.Value)
		return unquoted
	case *ast.Ident:
		return "${" + e.Name + "}"
	case *ast.BinaryExpr:
		return stringValue(e.X) + stringValue(e.Y)
	}
	return ""
}

// goName matches the names of constants in comments.
var goName = regexp.MustCompile(`\b(Label|Annotation|Finalizer|Condition|Reason)[A-Z]\w+`)

// resolve sets the values of the constants, and replaces Go names in comments by
// values. It removes the name from the beginning of a comment, so that
// "ReasonX means that A." becomes "A.".
func (groups constantGroups) resolve(values map[string]string) {
	value := func(name string) string {
		v := "${" + name + "}"
		for strings.Contains(v, "${") {
			v = os.Expand(v, func(n string) string { return values[n] })
		}
		return v
	}
	for _, group := range groups {
		for i := range group.constants {
			c := &group.constants[i]
			c.value = value(c.goName)
			for _, verb := range []string{" means that ", " is "} {
				c.doc = strings.TrimPrefix(c.doc, c.goName+verb)
			}
			c.doc = goName.ReplaceAllStringFunc(c.doc, func(name string) string {
				if v := value(name); v != "" {
					return code(v)
				}
				return name
			})
		}
	}
}

// table returns the table of the constants whose Go names have the prefix.
func (groups constantGroups) table(prefix string) string {
	var rows [][]string
	for _, group := range groups {
		for _, c := range group.constants {
			if strings.HasPrefix(c.goName, prefix) {
				rows = append(rows, []string{code(c.value), sentence(c.doc)})
			}
		}
	}
	return markdownTable([]string{"name", "meaning"}, rows)
}

// verdictTable returns the table of the reasons to delete a snapshot. The comment of
// each has the form "Name deletes: because of …".
func verdictTable(root string) (string, error) {
	path := filepath.Join(root, "internal", "retention", "verdict.go")
	groups, err := parseConstants(path, map[string]string{})
	if err != nil {
		return "", err
	}
	rows := [][]string{}
	for _, group := range groups {
		for i, c := range group.constants {
			if v := retention.Verdict(i); v.Delete() {
				_, doc, _ := strings.Cut(c.doc, "deletes")
				rows = append(rows, []string{code(v.String()), sentence(strings.TrimLeft(doc, ": "))})
			}
		}
	}
	if len(rows) == 0 {
		return "", fmt.Errorf("%s has no reasons to delete", path)
	}
	return markdownTable([]string{"reason", "meaning"}, rows), nil
}
