// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fileInTable matches a file in the table of a package comment; packages below it are named with their folder.
var fileInTable = regexp.MustCompile(`[\w/]+\.go\b`)

// inNoTable are files of packages in which a command has the file of its name.
const inNoTable = "internal/cli"

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
	if strings.HasSuffix(folder, inNoTable) {
		return
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
