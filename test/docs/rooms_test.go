// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// fileInTable matches a file in the table of a package comment; packages below it are named with their folder.
var fileInTable = regexp.MustCompile(`[\w/]+\.go\b`)

// A table of files in a package comment names all files of the package, and no other.
func TestPackageCommentsNameEveryFile(t *testing.T) {
	tables := 0
	for _, folder := range []string{"api", "internal", "test", "hack"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			if named := table(t, path); len(named) > 1 {
				tables++
				compareTable(t, filepath.Dir(path), named)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if tables < 10 {
		t.Errorf("found only %d tables", tables)
	}
}

// table returns the files that the table of a package comment names.
func table(t *testing.T, path string) (files []string) {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(source), "\npackage ")
	for line := range strings.Lines(comment) {
		if entry, ok := strings.CutPrefix(line, "//\t"); ok {
			name, _, _ := strings.Cut(entry, "  ")
			files = append(files, fileInTable.FindAllString(name, -1)...)
		}
	}
	return files
}

func compareTable(t *testing.T, folder string, named []string) {
	t.Helper()
	folders := map[string]bool{".": true}
	for _, file := range named {
		if _, err := os.Stat(filepath.Join(folder, file)); err != nil {
			t.Errorf("%s: the package comment names %s, which does not exist", folder, file)
		}
		folders[filepath.Dir(file)] = true
	}
	for below := range folders {
		files, err := filepath.Glob(filepath.Join(folder, below, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			file, err := filepath.Rel(folder, file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") && filepath.Base(file) != "doc.go" && !slices.Contains(named, file) {
				t.Errorf("%s: the package comment does not name %s", folder, file)
			}
		}
	}
}

// A file of internal/snapshots uses only what is in those below it in the table of the package comment.
func TestFilesUseWhatIsBelowThem(t *testing.T) {
	folder, files := filepath.Join(root, "internal/snapshots"), token.NewFileSet()
	order := table(t, filepath.Join(folder, "doc.go"))
	var parsed []*ast.File
	for _, name := range order {
		file, err := parser.ParseFile(files, filepath.Join(folder, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	exports := exportsOf(t, "./internal/snapshots")
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	uses := map[*ast.Ident]types.Object{}
	config := types.Config{Importer: importer.ForCompiler(files, "gc", lookup)}
	pkg, err := config.Check("snapshots", files, parsed, &types.Info{Uses: uses})
	if err != nil {
		t.Fatal(err)
	}
	place := func(at token.Pos) int { return slices.Index(order, filepath.Base(files.Position(at).Filename)) }
	for name, object := range uses {
		if object.Pkg() == pkg && place(object.Pos()) < place(name.Pos()) {
			t.Errorf("%s: %s is declared above, in %s", files.Position(name.Pos()), name.Name, order[place(object.Pos())])
		}
	}
}

// exportsOf returns the files with the export data of what a package depends on. They are compiled already, as this test is.
func exportsOf(t *testing.T, pkg string) map[string]string {
	t.Helper()
	build, _ := debug.ReadBuildInfo()
	race := slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}",
		fmt.Sprintf("-race=%v", race), pkg)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = root, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	return exports
}
