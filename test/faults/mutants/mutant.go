// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed patches/*.patch
var patches embed.FS

// mutant is a defect of the product, as a patch that is never applied to the tree.
type mutant struct {
	// Name is the patch file's, without its extension.
	Name string
	// Defect says in one line what is wrong.
	Defect string
	// Guarantees are those of which the mutant breaks at least one.
	Guarantees []string
	// Simulations is the number of simulations of which one finds it; zero: unknown.
	Simulations int

	changes []change
}

// clause matches a guarantee, or a clause of the contract.
const clause = `(?:S[1-9][0-9]?|L[1-5]|Slot|[A-Z]+-[1-9][0-9]?)`

var (
	firstLine  = regexp.MustCompile(`^(` + clause + `(?:, ` + clause + `)*): (.+)$`)
	secondLine = regexp.MustCompile(`^simulations: ([1-9][0-9]*)$`)
)

// parseMutant reads a patch. Its first line is "<guarantees>: <defect>"; "simulations: <number>" may follow, and then a unified diff.
func parseMutant(name, text string) (*mutant, error) {
	line, diff, _ := strings.Cut(text, "\n")
	first := firstLine.FindStringSubmatch(line)
	if first == nil {
		return nil, fmt.Errorf("%s: the first line must be like 'S3, S2: what is wrong'", name)
	}
	m := &mutant{Name: name, Defect: first[2], Guarantees: strings.Split(first[1], ", ")}
	line, rest, _ := strings.Cut(diff, "\n")
	if second := secondLine.FindStringSubmatch(line); second != nil {
		m.Simulations, _ = strconv.Atoi(second[1])
		diff = rest
	}
	var err error
	if m.changes, err = parseDiff(diff); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// load reads the mutants whose names have one of the prefixes.
func load(prefixes ...string) ([]*mutant, error) {
	entries, err := patches.ReadDir("patches")
	if err != nil {
		return nil, err
	}
	var all []*mutant
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".patch")
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		text, err := patches.ReadFile("patches/" + e.Name())
		if err != nil {
			return nil, err
		}
		m, err := parseMutant(name, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no mutant is named %s", strings.Join(prefixes, " or "))
	}
	return all, nil
}

// mutated returns the mutated files by their paths in the repository.
func (m *mutant) mutated(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, c := range m.changes {
		text, known := files[c.path]
		if !known {
			read, err := os.ReadFile(filepath.Join(root, c.path))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			text = string(read)
		}
		after, err := c.apply(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		if after == text {
			return nil, fmt.Errorf("%s: changes nothing in %s", m.Name, c.path)
		}
		files[c.path] = after
	}
	return files, nil
}

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
