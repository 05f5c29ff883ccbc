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
	"slices"
	"strconv"
	"strings"

	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// name is a constant that users rely on.
type name struct{ goName, value, doc string }

// block is a group of constants with what its comment says of them.
type block struct {
	doc   string
	names []name
}

// names are the string constants of the API package.
type names []block

func readNames(root string) (names, error) {
	dir := filepath.Join(root, "api", "v1alpha1")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found names
	values := map[string]string{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		blocks, err := readConstants(filepath.Join(dir, entry.Name()), values)
		if err != nil {
			return nil, err
		}
		found = append(found, blocks...)
	}
	found.resolve(values)
	return found, nil
}

// readConstants gathers the constants of a file, and their values so far as the
// file itself tells.
func readConstants(path string, values map[string]string) (names, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var found names
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			continue
		}
		b := block{doc: decl.Doc.Text()}
		for _, s := range decl.Specs {
			spec := s.(*ast.ValueSpec)
			if len(spec.Names) != 1 {
				return nil, fmt.Errorf("%s: give %s a line of its own", path, spec.Names[0].Name)
			}
			n := name{goName: spec.Names[0].Name, doc: spec.Doc.Text()}
			if n.doc == "" {
				n.doc = b.doc
			}
			if len(spec.Values) == 1 {
				values[n.goName] = text(spec.Values[0])
			}
			b.names = append(b.names, n)
		}
		found = append(found, b)
	}
	return found, nil
}

// text is an expression of string constants; the names in it stay, as ${name}.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		unquoted, _ := strconv.Unquote(e.Value)
		return unquoted
	case *ast.Ident:
		return "${" + e.Name + "}"
	case *ast.BinaryExpr:
		return text(e.X) + text(e.Y)
	}
	return ""
}

// resolve fills in values, and puts them in the place of Go names in comments.
func (all names) resolve(values map[string]string) {
	value := func(goName string) string {
		v := "${" + goName + "}"
		for strings.Contains(v, "${") {
			v = os.Expand(v, func(n string) string { return values[n] })
		}
		return v
	}
	word := regexp.MustCompile(`\b(Label|Annotation|Finalizer|Condition|Reason)[A-Z]\w+`)
	for _, b := range all {
		for i := range b.names {
			n := &b.names[i]
			n.value = value(n.goName)
			if rest, ok := strings.CutPrefix(n.doc, n.goName); ok {
				n.doc = strings.TrimPrefix(code(n.value[strings.LastIndex(n.value, "/")+1:])+rest, code(n.value)+": ")
			}
			n.doc = word.ReplaceAllStringFunc(n.doc, func(w string) string {
				if v := value(w); v != "" {
					return code(v)
				}
				return w
			})
		}
	}
}

// table is that of the constants whose Go names begin so.
func (all names) table(prefix string) string {
	var rows [][]string
	for _, b := range all {
		for _, n := range b.names {
			if strings.HasPrefix(n.goName, prefix) {
				rows = append(rows, []string{code(n.value), sentence(n.doc)})
			}
		}
	}
	return table([]string{"name", "meaning"}, rows)
}

// situation is one status of a condition with one reason.
type situation struct{ condition, status, reason string }

var (
	statusLine = regexp.MustCompile(`^(True|False|Unknown), with reason:$`)
	reasonLine = regexp.MustCompile(`^\s*- (\w+)$`)
)

// situations reads the comments of the condition types, which list the reasons of
// each status.
func (all names) situations() []situation {
	var found []situation
	for _, b := range all {
		for _, n := range b.names {
			if !strings.HasPrefix(n.goName, "Condition") {
				continue
			}
			s := situation{condition: n.value}
			for line := range strings.Lines(n.doc) {
				line = strings.TrimRight(line, "\n")
				if m := statusLine.FindStringSubmatch(line); m != nil {
					s.status = m[1]
				} else if m := reasonLine.FindStringSubmatch(line); m != nil {
					s.reason = m[1]
					found = append(found, s)
				}
			}
		}
	}
	return found
}

func (all names) conditions() string {
	rows := [][]string{}
	for _, s := range all.situations() {
		rows = append(rows, []string{code(s.condition), code(s.status), code(s.reason), sentence(all.reason(s.reason).doc)})
	}
	return table([]string{"condition", "status", "reason", "meaning"}, rows)
}

func (all names) reason(value string) name {
	for _, b := range all {
		for _, n := range b.names {
			if strings.HasPrefix(n.goName, "Reason") && n.value == value {
				return n
			}
		}
	}
	return name{}
}

// reasons are the blocks of reasons that are no condition's.
func (all names) reasons() string {
	var b strings.Builder
	situations := all.situations()
	for _, group := range all {
		rows := [][]string{}
		for _, n := range group.names {
			ofCondition := slices.ContainsFunc(situations, func(s situation) bool { return s.reason == n.value })
			if strings.HasPrefix(n.goName, "Reason") && !ofCondition {
				rows = append(rows, []string{code(n.value), sentence(n.doc)})
			}
		}
		if len(rows) > 0 {
			if b.Len() > 0 {
				b.WriteString("\n")
			}
			b.WriteString(sentence(group.doc) + "\n\n" + table([]string{"reason", "meaning"}, rows))
		}
	}
	return b.String()
}

// readVerdicts is the table of why snapshots are deleted.
func readVerdicts(root string) (string, error) {
	path := filepath.Join(root, "internal", "retention", "verdict.go")
	blocks, err := readConstants(path, map[string]string{})
	if err != nil {
		return "", err
	}
	rows := [][]string{}
	for _, b := range blocks {
		for i, n := range b.names {
			if v := retention.Verdict(i); v.Delete() {
				_, doc, _ := strings.Cut(n.doc, "deletes")
				rows = append(rows, []string{code(v.String()), sentence(strings.TrimLeft(doc, ": "))})
			}
		}
	}
	if len(rows) == 0 {
		return "", fmt.Errorf("%s holds no reasons to delete", path)
	}
	return table([]string{"why", "meaning"}, rows), nil
}
