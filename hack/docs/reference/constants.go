// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"go/ast"
	gconstant "go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// constant is a documented Go constant. Only strings have a value.
type constant struct{ goName, value, doc string }

// constantGroup is a const declaration with its doc comment.
type constantGroup struct {
	doc       string
	constants []constant
}

type constantGroups []constantGroup

// readConstants reads the constants of a package.
func readConstants(dir string) (found constantGroups, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	// Constants have their values although no import is loaded.
	info := types.Info{Defs: map[*ast.Ident]types.Object{}}
	_, _ = (&types.Config{Error: func(error) {}}).Check(dir, set, files, &info)
	values := map[string]string{}
	for _, file := range files {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST {
				continue
			}
			group := constantGroup{doc: decl.Doc.Text()}
			for _, s := range decl.Specs {
				spec := s.(*ast.ValueSpec)
				c := constant{goName: spec.Names[0].Name, doc: spec.Doc.Text()}
				if c.doc == "" {
					c.doc = group.doc
				}
				if v := info.Defs[spec.Names[0]].(*types.Const).Val(); v.Kind() == gconstant.String {
					c.value = gconstant.StringVal(v)
					values[c.goName] = c.value
				}
				group.constants = append(group.constants, c)
			}
			found = append(found, group)
		}
	}
	found.describe(values)
	return found, nil
}

// goName matches the names of constants in comments.
var goName = regexp.MustCompile(`\b(Label|Annotation|Finalizer|Condition|Reason)[A-Z]\w+`)

// describe replaces Go names in comments by their values. It removes the name from the beginning of a comment, so that
// "ReasonX means that A." becomes "A.".
func (groups constantGroups) describe(values map[string]string) {
	for _, group := range groups {
		for i := range group.constants {
			c := &group.constants[i]
			c.doc = strings.TrimPrefix(c.doc, c.goName+" ")
			for _, verb := range []string{"means that ", "is "} {
				c.doc = strings.TrimPrefix(c.doc, verb)
			}
			c.doc = goName.ReplaceAllStringFunc(c.doc, func(name string) string {
				if v := values[name]; v != "" {
					return code(v)
				}
				return name
			})
		}
	}
}

// with returns the constants whose Go names have the prefix.
func (groups constantGroups) with(prefix string) (found []constant) {
	for _, group := range groups {
		for _, c := range group.constants {
			if strings.HasPrefix(c.goName, prefix) {
				found = append(found, c)
			}
		}
	}
	return found
}

func (groups constantGroups) list(prefix string) string {
	var list strings.Builder
	for _, c := range groups.with(prefix) {
		list.WriteString(item(c.value, "", c.doc))
	}
	return list.String()
}

// verdictList returns the list of the reasons to delete a snapshot. The comment of
// each has the form "Name deletes: because of …", with the name as logs have it.
func verdictList(root string) (string, error) {
	groups, err := readConstants(filepath.Join(root, "internal", "retention"))
	if err != nil {
		return "", err
	}
	var list strings.Builder
	for _, group := range groups {
		for _, c := range group.constants {
			if doc, deletes := strings.CutPrefix(c.doc, "deletes"); deletes {
				list.WriteString(item(c.goName, "", strings.TrimLeft(doc, ": ")))
			}
		}
	}
	if list.Len() == 0 {
		return "", fmt.Errorf("internal/retention has no reasons to delete")
	}
	return list.String(), nil
}

var (
	statusLine = regexp.MustCompile(`^(True|False|Unknown), with reason:$`)
	reasonLine = regexp.MustCompile(`^\s*- (\w+)$`)
)

// conditions returns what the conditions mean, a table of their reasons, which the comments of the conditions list, and what each
// of these means.
func (groups constantGroups) conditions() (overview, meanings string) {
	var list strings.Builder
	var rows [][]string
	var reasons []string
	for _, c := range groups.with("Condition") {
		status, of := "", map[string][]string{}
		meaning, lists, _ := strings.Cut(c.doc, "\n\n")
		list.WriteString(item(c.value, "", meaning))
		for line := range strings.Lines(lists) {
			line = strings.TrimRight(line, "\n")
			if m := statusLine.FindStringSubmatch(line); m != nil {
				status = m[1]
			} else if m := reasonLine.FindStringSubmatch(line); m != nil {
				of[status], reasons = append(of[status], m[1]), append(reasons, m[1])
			}
		}
		rows = append(rows, []string{code(c.value), codes(of["True"]), codes(of["False"]), codes(of["Unknown"])})
	}
	for _, r := range groups.with("Reason") {
		if slices.Contains(reasons, r.value) {
			meanings += item(r.value, "", r.doc)
		}
	}
	return list.String() + "\n" + markdownTable([]string{"condition", "`True`", "`False`", "`Unknown`"}, rows), meanings
}
