// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// change is what a unified diff does to one file.
type change struct {
	path  string
	hunks []hunk
}

// hunk replaces some lines by others. Line numbers don't count: the old lines must
// be found in the file once, so that a hunk follows them wherever they go, and never
// lands on others that look the same.
type hunk struct {
	old, new []string
}

// parseDiff reads a unified diff between files of the same names.
func parseDiff(text string) ([]change, error) {
	var changes []change
	var h *hunk
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		bad := func(why string) error { return fmt.Errorf("line %d of the diff: %s: %q", i+1, why, line) }
		switch {
		case strings.HasPrefix(line, "--- a/"):
			changes = append(changes, change{path: strings.TrimPrefix(line, "--- a/")})
			h = nil
		case len(changes) == 0:
			return nil, bad("a file must come first, as '--- a/<path>'")
		case strings.HasPrefix(line, "+++ b/"):
			if strings.TrimPrefix(line, "+++ b/") != changes[len(changes)-1].path {
				return nil, bad("a mutant renames no file")
			}
		case strings.HasPrefix(line, "@@ "):
			c := &changes[len(changes)-1]
			c.hunks = append(c.hunks, hunk{})
			h = &c.hunks[len(c.hunks)-1]
		case h == nil:
			return nil, bad("a hunk must come first, as '@@ … @@'")
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
		return errors.New("a line begins with ' ', '-' or '+'")
	}
	return nil
}

// apply returns a file as the change makes it.
func (c change) apply(text string) (string, error) {
	lines := strings.Split(text, "\n")
	for i, h := range c.hunks {
		if len(h.old) == 0 {
			return "", fmt.Errorf("hunk %d of %s says nowhere: it needs a line of context", i+1, c.path)
		}
		switch at := h.places(lines); len(at) {
		case 0:
			return "", fmt.Errorf("hunk %d no longer applies: %s has no such lines:\n%s", i+1, c.path, strings.Join(h.old, "\n"))
		case 1:
			lines = slices.Replace(lines, at[0], at[0]+len(h.old), h.new...)
		default:
			return "", fmt.Errorf("hunk %d is ambiguous: %s has these lines %d times; add context:\n%s",
				i+1, c.path, len(at), strings.Join(h.old, "\n"))
		}
	}
	return strings.Join(lines, "\n"), nil
}

// places are where the old lines are.
func (h hunk) places(lines []string) []int {
	var at []int
	for i := 0; i+len(h.old) <= len(lines); i++ {
		if slices.Equal(lines[i:i+len(h.old)], h.old) {
			at = append(at, i)
		}
	}
	return at
}
