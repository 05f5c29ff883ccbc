// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// change is the part of a unified diff for one file.
type change struct {
	path  string
	hunks []hunk
}

// hunk replaces lines. Line numbers do not matter: the old lines must occur exactly
// once in the file, so that a hunk follows them when they move.
type hunk struct {
	// target is the declaration that the hunk belongs to, as git diff writes it after
	// the second @@; empty if the hunk names none.
	target   string
	old, new []string
}

var (
	hunkHeader  = regexp.MustCompile(`^@@ [^@]*@@ ?(.*)$`)
	declaration = regexp.MustCompile(`^(?:func (?:\([^)]*\) )?|type |var |const )(\w+)`)
)

// parseDiff reads a unified diff that renames no files.
func parseDiff(text string) ([]change, error) {
	var changes []change
	var h *hunk
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		bad := func(why string) error { return fmt.Errorf("line %d of the diff: %s: %q", i+1, why, line) }
		header := hunkHeader.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "--- a/"):
			changes = append(changes, change{path: strings.TrimPrefix(line, "--- a/")})
			h = nil
		case len(changes) == 0:
			return nil, bad("want a file first, as '--- a/<path>'")
		case strings.HasPrefix(line, "+++ b/"):
			if strings.TrimPrefix(line, "+++ b/") != changes[len(changes)-1].path {
				return nil, bad("the file is renamed")
			}
		case header != nil:
			c := &changes[len(changes)-1]
			c.hunks = append(c.hunks, hunk{target: header[1]})
			h = &c.hunks[len(c.hunks)-1]
		case h == nil:
			return nil, bad("want a hunk first, as '@@ … @@'")
		default:
			if err := h.add(line); err != nil {
				return nil, bad(err.Error())
			}
		}
	}
	if len(changes) == 0 {
		return nil, errors.New("the diff is empty")
	}
	return changes, nil
}

func (h *hunk) add(line string) error {
	sign, rest := byte(' '), ""
	if line != "" {
		sign, rest = line[0], line[1:]
	}
	switch sign {
	case ' ':
		h.old, h.new = append(h.old, rest), append(h.new, rest)
	case '-':
		h.old = append(h.old, rest)
	case '+':
		h.new = append(h.new, rest)
	default:
		return errors.New("a line must start with ' ', '-' or '+'")
	}
	return nil
}

// apply returns the changed text of a file.
func (c change) apply(text string) (string, error) {
	lines := strings.Split(text, "\n")
	for i, h := range c.hunks {
		if len(h.old) == 0 {
			return "", fmt.Errorf("hunk %d of %s needs a line of context", i+1, c.path)
		}
		at := h.find(lines)
		switch {
		case len(at) == 0:
			return "", fmt.Errorf("hunk %d does not apply: %s has no such lines:\n%s", i+1, c.path, strings.Join(h.old, "\n"))
		case len(at) > 1:
			return "", fmt.Errorf("hunk %d is ambiguous: %s has these lines %d times; add context:\n%s",
				i+1, c.path, len(at), strings.Join(h.old, "\n"))
		}
		if in := enclosing(lines[:at[0]]); h.target != "" && nameOf(in) != nameOf(h.target) {
			return "", fmt.Errorf("hunk %d applies to %s in %q, but names %q", i+1, c.path, in, h.target)
		}
		lines = slices.Replace(lines, at[0], at[0]+len(h.old), h.new...)
	}
	return strings.Join(lines, "\n"), nil
}

// find returns where the old lines are.
func (h hunk) find(lines []string) []int {
	var at []int
	for i := 0; i+len(h.old) <= len(lines); i++ {
		if slices.Equal(lines[i:i+len(h.old)], h.old) {
			at = append(at, i)
		}
	}
	return at
}

// enclosing returns the last line that starts a declaration, as git diff finds it.
func enclosing(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if line != "" && (line[0] == '_' || line[0]|0x20 >= 'a' && line[0]|0x20 <= 'z') {
			return line
		}
	}
	return ""
}

// nameOf returns the name in a declaration, or the whole line, so that a changed
// signature is still the same target.
func nameOf(line string) string {
	if m := declaration.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return strings.TrimSpace(line)
}
