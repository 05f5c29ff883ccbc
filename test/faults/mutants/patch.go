// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// change is the part of a unified diff for one file.
type change struct {
	path  string
	hunks []hunk
}

// hunk replaces lines. Line numbers do not matter: the old lines must occur exactly once in the file, so that a hunk follows them when
// they move.
type hunk struct{ old, new string }

// parseDiff reads a unified diff that renames no files.
func parseDiff(text string) (changes []change, err error) {
	var c *change
	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		path, begins := strings.CutPrefix(line, "--- a/")
		switch {
		case begins:
			changes = append(changes, change{path: strings.TrimSpace(path)})
			c = &changes[len(changes)-1]
		case c == nil:
			return nil, fmt.Errorf("want a file first, as '--- a/<path>', not %q", line)
		case line == "+++ b/"+c.path+"\n":
		case strings.HasPrefix(line, "@@ "):
			c.hunks = append(c.hunks, hunk{})
		case len(c.hunks) == 0:
			return nil, fmt.Errorf("want a hunk of %s first, as '@@ … @@', not %q", c.path, line)
		default:
			if err := c.hunks[len(c.hunks)-1].add(line); err != nil {
				return nil, err
			}
		}
	}
	return changes, nil
}

func (h *hunk) add(line string) error {
	switch line[0] {
	case '\n':
		h.old, h.new = h.old+line, h.new+line
	case ' ':
		h.old, h.new = h.old+line[1:], h.new+line[1:]
	case '-':
		h.old += line[1:]
	case '+':
		h.new += line[1:]
	default:
		return fmt.Errorf("a line must start with ' ', '-' or '+': %q", line)
	}
	return nil
}

// apply returns the changed text of a file.
func (c change) apply(text string) (string, error) {
	for i, h := range c.hunks {
		all, old := "\n"+text, "\n"+h.old
		at := strings.Index(all, old)
		if h.old == "" || at < 0 || at != strings.LastIndex(all, old) {
			return "", fmt.Errorf("hunk %d does not apply: %s has these lines not exactly once:\n%s", i+1, c.path, h.old)
		}
		text = (all[:at+1] + h.new + all[at+len(old):])[1:]
	}
	return text, nil
}
