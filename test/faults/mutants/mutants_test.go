// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// guarantees are all that are promised.
var guarantees = []string{"S1", "S2", "S3", "S4", "S5", "S6", "S7", "L1", "L2", "L3"}

// TestMutantsApply sees that every mutant still applies to the product as it is, and
// compiles: one that does not proves nothing.
func TestMutantsApply(t *testing.T) {
	root, err := environment.Repository(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	checker := newChecker(t, root)
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			files, err := m.mutated(root)
			if err != nil {
				t.Fatal(err)
			}
			if err := checker.check(files); err != nil {
				t.Fatalf("%s does not compile: %v", m.Name, err)
			}
		})
	}
}

func TestMutantsBreakEveryGuarantee(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Errorf("there are %d mutants, and 20 at least are promised", len(all))
	}
	broken := map[string]bool{}
	for _, m := range all {
		broken[m.Falls[0]] = true
		for _, g := range m.Falls {
			if g != "Slot" && !slices.Contains(guarantees, g) {
				t.Errorf("%s breaks %s, which nobody promised", m.Name, g)
			}
		}
	}
	for _, g := range guarantees {
		if !broken[g] {
			t.Errorf("no mutant is made to break %s", g)
		}
	}
}

func TestParseMutantRefuses(t *testing.T) {
	const diff = "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+b\n"
	for name, text := range map[string]string{
		"no guarantee":       "it breaks\nplans: idle:expiry:*\n" + diff,
		"no plan":            "S1: it breaks\n" + diff,
		"a number of none":   "S1: it breaks\nlives: none\n" + diff,
		"no lives":           "S1: it breaks\nlives: 0\n" + diff,
		"no diff":            "S1: it breaks\nlives: 3\n",
		"nothing but a name": "S1: it breaks",
	} {
		t.Run(name, func(t *testing.T) {
			if m, err := parseMutant("00", text); err == nil {
				t.Fatalf("no error, but %+v", m)
			}
		})
	}
}

// checker checks the types of packages with some files changed, against what the
// compiler left of all they import.
type checker struct {
	root     string
	packages map[string]listed // by folder, relative to the root
	exports  map[string]string
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func newChecker(t *testing.T, root string) *checker {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles", operatorPackage)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	c := &checker{root: root, packages: map[string]listed{}, exports: map[string]string{}}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return c
		} else if err != nil {
			t.Fatal(err)
		}
		c.exports[p.ImportPath] = p.Export
		if dir, err := filepath.Rel(root, p.Dir); err == nil && filepath.IsLocal(dir) {
			c.packages[dir] = p
		}
	}
}

func (c *checker) check(changed map[string]string) error {
	seen := map[string]bool{}
	for path := range changed {
		dir := filepath.Dir(path)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		p, known := c.packages[dir]
		if !known {
			return fmt.Errorf("%s is no part of the operator", path)
		}
		if err := c.checkPackage(p, dir, changed); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) checkPackage(p listed, dir string, changed map[string]string) error {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		path := filepath.Join(dir, name)
		text, mutated := changed[path]
		if !mutated {
			read, err := os.ReadFile(filepath.Join(c.root, path))
			if err != nil {
				return err
			}
			text = string(read)
		}
		f, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(c.exports[path]) })
	_, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, files, nil)
	return err
}
