// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	// roomRow matches a row of the table of rooms in docs/contribute/design.md: its folders, its purpose, its aim and its limit.
	roomRow    = regexp.MustCompile("(?m)^\\| (`.*`) \\| .* \\| [\\d,]+ \\| ([\\d,]+) \\|$")
	inQuotes   = regexp.MustCompile("`([^`]+)`")
	generated  = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	helpsTests = regexp.MustCompile(`/(clitest|enginetest|fixture|reporttest)/`)
)

// A room grows by a commit that raises its limit, and says what the lines buy. One that shrinks has its limit lowered, so that what was
// won is kept.
func TestRoomsKeepTheirBudgets(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/contribute/design.md"))
	if err != nil {
		t.Fatal(err)
	}
	limits, rooms, lines := map[string]int{}, map[string]string{}, map[string]int{}
	for _, row := range roomRow.FindAllStringSubmatch(string(page), -1) {
		for _, folder := range inQuotes.FindAllStringSubmatch(row[1], -1) {
			rooms[folder[1]] = row[1]
		}
		if limits[row[1]], err = strconv.Atoi(strings.ReplaceAll(row[2], ",", "")); err != nil {
			t.Fatal(err)
		}
	}
	for _, top := range []string{"api", "cmd", "internal", "hack", "test"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err == nil && !generated.Match(text) {
				lines[roomOf(t, rooms, strings.TrimPrefix(filepath.ToSlash(path), root+"/"))] += bytes.Count(text, []byte("\n"))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for room, limit := range limits {
		switch has := lines[room]; {
		case has > limit:
			t.Errorf("%s has %d lines, %d more than its limit in docs/contribute/design.md", room, has, has-limit)
		case has < limit-max(100, limit/20):
			t.Errorf("%s has %d lines: lower its limit of %d in docs/contribute/design.md", room, has, limit)
		}
	}
}

// roomOf returns the row of the folder of a file that is nearest to it. Tests beside the product, and what helps them, have a row together.
func roomOf(t *testing.T, rooms map[string]string, path string) string {
	t.Helper()
	folder := filepath.Dir(path)
	if !strings.HasPrefix(path, "test/") && (strings.HasSuffix(path, "_test.go") || helpsTests.MatchString(path)) {
		folder = "_test.go"
	}
	for ; rooms[folder] == ""; folder = filepath.Dir(folder) {
		if folder == "." {
			t.Errorf("%s is in no room of the table in docs/contribute/design.md", path)
			break
		}
	}
	return rooms[folder]
}
