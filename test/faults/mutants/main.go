// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Mutants proves that the tests find defects: it tries small defects of the product, the mutants, against
// one suite of tests after the other, until one fails, or all of them. See docs/contribute/faults.md.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

var (
	only  = flag.String("mutant", "", "comma-separated `prefixes` of mutants' names (default: all)")
	tried = flag.String("suites", strings.Join(suiteNames(), ","), "try only these `suites`, in the order of the default "+
		"(integration needs KUBEBUILDER_ASSETS)")
	all   = flag.Bool("all", false, "try every suite, also after one that kills")
	table = flag.String("write", "", "`file` with the table of the mutants, in which to replace the rows of those that were tried")
	check = flag.Bool("check", false, "print for every mutant whether its patch applies and compiles, without trying any")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	mutants, err := load(strings.Split(*only, ",")...)
	if err != nil {
		return err
	}
	if *check {
		return checkAll(ctx, root, mutants, os.Stdout)
	}
	for _, m := range mutants { // fail before minutes are spent
		if _, err := m.mutated(root); err != nil {
			return err
		}
	}
	return matrix(ctx, root, mutants, strings.Split(*tried, ","), *table)
}

// checkAll prints for every mutant whether its patch applies where it says, and whether it compiles. It runs nothing.
func checkAll(ctx context.Context, root string, mutants []*mutant, out io.Writer) error {
	c, err := newChecker(ctx, root)
	if err != nil {
		return err
	}
	failed := 0
	for _, m := range mutants {
		verdict := "ok"
		if err := c.check(m); err != nil {
			failed++
			verdict = "FAILED: " + strings.ReplaceAll(strings.TrimPrefix(err.Error(), m.Name+": "), "\n", "\n    ")
		}
		_, _ = fmt.Fprintf(out, "%-34s %s\n", m.Name, verdict)
	}
	_, _ = fmt.Fprintf(out, "\n%d mutants: %d ok, %d failed\n", len(mutants), len(mutants)-failed, failed)
	if failed > 0 {
		return fmt.Errorf("%d mutants failed the check", failed)
	}
	return nil
}

// checker checks the types of packages with mutated files, against the compiler's
// export data of what they import. That takes milliseconds instead of a build.
type checker struct {
	root     string
	packages map[string]listedPackage // by folder, relative to the root
	exports  map[string]string
}

type listedPackage struct {
	ImportPath string
	GoFiles    []string
}

func newChecker(ctx context.Context, root string) (*checker, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-export", "-f", "{{.ImportPath}}\t{{.Dir}}\t{{.Export}}\t{{join .GoFiles \" \"}}", "./cmd/...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	c := &checker{root: root, packages: map[string]listedPackage{}, exports: map[string]string{}}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		c.exports[fields[0]] = fields[2]
		if dir, err := filepath.Rel(root, fields[1]); err == nil && filepath.IsLocal(dir) {
			c.packages[dir] = listedPackage{ImportPath: fields[0], GoFiles: strings.Fields(fields[3])}
		}
	}
	return c, nil
}

func (c *checker) check(m *mutant) error {
	files, err := m.mutated(c.root)
	if err != nil {
		return err
	}
	checked := map[string]bool{}
	for path := range files {
		dir := filepath.Dir(path)
		if checked[dir] {
			continue
		}
		checked[dir] = true
		p, ok := c.packages[dir]
		if !ok {
			return fmt.Errorf("%s is part of neither program", path)
		}
		if err := c.checkPackage(p, dir, files); err != nil {
			return fmt.Errorf("does not compile: %w", err)
		}
	}
	return nil
}

func (c *checker) checkPackage(p listedPackage, dir string, mutated map[string]string) error {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		path := filepath.Join(dir, name)
		text, ok := mutated[path]
		if !ok {
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
