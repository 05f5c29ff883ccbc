// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract checks that every clause of contract.md is cited by a test, and that every citation is valid.
package contract

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// clauses returns the IDs in contract.md.
func clauses(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("contract.md")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range regexp.MustCompile(`(?m)^\*\*([A-Z]+-[0-9]+)\*\* `).FindAllStringSubmatch(string(text), -1) {
		if slices.Contains(ids, m[1]) {
			t.Errorf("contract.md defines %s twice", m[1])
		}
		ids = append(ids, m[1])
	}
	if len(ids) < 70 {
		t.Fatalf("contract.md has only %d clauses: it was not parsed correctly", len(ids))
	}
	return ids
}

// testFiles returns the paths of all test files of this module, relative to its root.
func testFiles(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if err == nil || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
		}
		if strings.HasSuffix(path, "_test.go") {
			relative, err := filepath.Rel(root, path)
			files = append(files, filepath.ToSlash(relative))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEveryClauseIsCitedByATest(t *testing.T) {
	root := filepath.Join("..", "..")
	known := clauses(t)
	cited := map[string]bool{}
	for _, path := range testFiles(t, root) {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(root, path), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		found := citationsIn(files, file)
		for _, problem := range found.problems {
			t.Errorf("%s:%s", path, problem)
		}
		for _, id := range found.ids {
			cited[id] = true
			if !slices.Contains(known, id) {
				t.Errorf("%s cites %s, which contract.md does not define", path, id)
			}
		}
		if strings.HasPrefix(path, "test/integration/") {
			for _, spec := range found.uncited {
				t.Errorf("%s:%s cites no clause", path, spec)
			}
		}
	}
	for _, id := range known {
		if !cited[id] {
			t.Errorf("no test cites %s", id)
		}
	}
}
