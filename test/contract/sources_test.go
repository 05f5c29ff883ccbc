// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sources are the tests of a folder, as their source tells.
type sources struct {
	// functions are the strings that each test function holds.
	functions map[string]map[string]bool
	// specs counts the texts of Ginkgo specs, tables and their entries.
	specs map[string]int
}

// load reads the tests of a folder, given from the root of the project.
func load(folder string) (*sources, error) {
	dir := filepath.Join("..", "..", filepath.FromSlash(folder))
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	s := &sources{functions: map[string]map[string]bool{}, specs: map[string]int{}}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, f.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.add(parsed)
	}
	return s, nil
}

func (s *sources) add(file *ast.File) {
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Body != nil {
			s.functions[f.Name.Name] = literals(f.Body)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := specText(n); ok {
			s.specs[text]++
		}
		return true
	})
}

func literals(n ast.Node) map[string]bool {
	all := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if text, ok := literal(n); ok {
			all[text] = true
		}
		return true
	})
	return all
}

func literal(n ast.Node) (string, bool) {
	l, ok := n.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// specText is the text of a spec that runs: one that is pending, such as PIt, proves nothing.
func specText(n ast.Node) (string, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	name, ok := call.Fun.(*ast.Ident)
	if !ok || !slices.Contains([]string{"It", "Specify", "Entry", "DescribeTable"}, name.Name) || pending(call) {
		return "", false
	}
	return literal(call.Args[0])
}

func pending(call *ast.CallExpr) bool {
	return slices.ContainsFunc(call.Args, func(e ast.Expr) bool {
		name, ok := e.(*ast.Ident)
		return ok && name.Name == "Pending"
	})
}

// find says why a test is not there, if it isn't: a test function, a case of its table, or a
// spec. A spec must be the only one of its text.
func (s *sources) find(test string) error {
	if !strings.HasPrefix(test, "Test") {
		switch n := s.specs[test]; n {
		case 0:
			return fmt.Errorf("there is no spec %q", test)
		case 1:
			return nil
		default:
			return fmt.Errorf("there are %d specs %q", n, test)
		}
	}
	name, subtest, isCase := strings.Cut(test, "/")
	held, ok := s.functions[name]
	switch {
	case !ok:
		return fmt.Errorf("there is no %s", name)
	case isCase && !held[subtest]:
		return fmt.Errorf("%s has no case %q", name, subtest)
	}
	return nil
}

func TestFind(t *testing.T) {
	const source = `package p
func TestA(t *testing.T) { for name := range map[string]int{"one": 1} { t.Run(name, nil) } }
func (x) TestMethod(t *testing.T) {}
func helper() { It("helps", nil) }
var _ = Describe("D", func() { It("says", nil); It("twice", nil); It("twice", nil); PIt("pending", nil); It("later", Pending, nil)
	DescribeTable("table", f, Entry("entry", 1)) })`
	parsed, err := parser.ParseFile(token.NewFileSet(), "p_test.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &sources{functions: map[string]map[string]bool{}, specs: map[string]int{}}
	s.add(parsed)
	for test, want := range map[string]bool{
		"TestA": true, "TestA/one": true, "TestA/two": false, "TestB": false, "TestMethod": false,
		"says": true, "helps": true, "table": true, "entry": true, "twice": false, "pending": false, "later": false, "D": false,
	} {
		if err := s.find(test); (err == nil) != want {
			t.Errorf("%s: %v", test, err)
		}
	}
}
