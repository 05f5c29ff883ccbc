// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// citations are the "// Contract: ID, ID." comments of one file.
type citations struct {
	ids []string
	// uncited are the running specs and entries without a citation, as "line: text".
	uncited []string
	// problems are the comments that cite nothing, as "line: why".
	problems []string
}

var citation = regexp.MustCompile(`^// Contract: ([A-Z]+-[0-9]+(?:, [A-Z]+-[0-9]+)*)\.$`)

func citationsIn(files *token.FileSet, file *ast.File) citations {
	line := func(p token.Pos) int { return files.Position(p).Line }
	tests := runningTests(file)
	var c citations
	above := map[int]bool{} // the lines below a citation
	for _, group := range file.Comments {
		for i, comment := range group.List {
			if !strings.HasPrefix(comment.Text, "// Contract:") {
				continue
			}
			m := citation.FindStringSubmatch(comment.Text)
			next := line(comment.End()) + 1
			isTest := slices.ContainsFunc(tests, func(t runningTest) bool { return line(t.pos) == next })
			switch {
			case m == nil:
				c.problems = append(c.problems, fmt.Sprintf("%d: %q is not of the form // Contract: API-1, MAP-3.", line(comment.Pos()), comment.Text))
			case i != len(group.List)-1 || !isTest:
				c.problems = append(c.problems, fmt.Sprintf("%d: there is no running test directly below %q", line(comment.Pos()), comment.Text))
			default:
				c.ids = append(c.ids, strings.Split(m[1], ", ")...)
				above[next] = true
			}
		}
	}
	for _, test := range tests {
		if test.mustCite && !above[line(test.pos)] {
			c.uncited = append(c.uncited, fmt.Sprintf("%d: %s", line(test.pos), test.text))
		}
	}
	return c
}

type runningTest struct {
	pos      token.Pos
	text     string
	mustCite bool
}

// runningTests returns the test functions, and the specs, tables and entries of Ginkgo that are not pending.
func runningTests(file *ast.File) (all []runningTest) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
				all = append(all, runningTest{pos: n.Pos(), text: n.Name.Name})
			}
		case *ast.CallExpr:
			name, ok := n.Fun.(*ast.Ident)
			if !ok {
				return true
			}
			if slices.Contains(pendingNodes, name.Name) || slices.ContainsFunc(n.Args, isPending) {
				return false
			}
			if len(n.Args) > 0 && slices.Contains(specNodes, name.Name) {
				text := "a spec"
				if literal, ok := n.Args[0].(*ast.BasicLit); ok {
					text = literal.Value
				}
				all = append(all, runningTest{pos: n.Pos(), text: text, mustCite: name.Name != "DescribeTable"})
			}
		}
		return true
	})
	return all
}

var (
	specNodes    = []string{"It", "Specify", "Entry", "DescribeTable"}
	pendingNodes = []string{
		"PIt", "XIt", "PSpecify", "XSpecify", "PEntry", "XEntry", "PDescribeTable", "XDescribeTable",
		"PDescribe", "XDescribe", "PContext", "XContext", "PWhen", "XWhen",
	}
)

func isPending(argument ast.Expr) bool {
	name, ok := argument.(*ast.Ident)
	return ok && name.Name == "Pending"
}

func TestCitationsIn(t *testing.T) {
	const source = `package p

// TestA has a doc comment.
//
// Contract: A-1, B-2.
func TestA(t *testing.T) {
	// Contract: IN-1.
	_ = 1
}

// Contract: HELPER-1.
func helper() {}

var _ = Describe("D", func() {
	// Contract: IT-1.
	It("cites", nil)
	It("does not cite", nil)
	// Contract: FAR-1.

	It("is too far", nil)
	// Contract: PENDING-1.
	PIt("is pending", nil)
	// Contract: PENDING-2.
	It("is pending too", Pending, nil)
	PDescribe("P", func() {
		// Contract: PENDING-3.
		It("is in a pending container", nil)
	})
	// Contract: TABLE-1.
	DescribeTable("table", nil,
		// Contract: ENTRY-1.
		Entry("cites", 1),
		// Contract: no clause
		Entry("cites nothing", 1))
})
`
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p_test.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	got := citationsIn(files, file)
	if want := []string{"A-1", "B-2", "IT-1", "TABLE-1", "ENTRY-1"}; !slices.Equal(got.ids, want) {
		t.Errorf("got IDs %q, want %q", got.ids, want)
	}
	if want := []string{`17: "does not cite"`, `20: "is too far"`, `34: "cites nothing"`}; !slices.Equal(got.uncited, want) {
		t.Errorf("got uncited %q, want %q", got.uncited, want)
	}
	var lines []string
	for _, problem := range got.problems {
		lines = append(lines, strings.SplitN(problem, ":", 2)[0])
	}
	if want := []string{"7", "11", "18", "21", "23", "26", "33"}; !slices.Equal(lines, want) {
		t.Errorf("got problems %q, want them in lines %q", got.problems, want)
	}
}
