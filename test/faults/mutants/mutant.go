// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed patches/*.patch
var patches embed.FS

// mutant is a defect of the product, as a patch that is never applied to the tree.
type mutant struct {
	// Name is that of its file, without the ending.
	Name string
	// Breaks says in a line what is wrong.
	Breaks string
	// Falls are the guarantees of which it breaks one at least.
	Falls []string
	// Plans are those of the campaign that should find it, as --plan has them.
	Plans []string
	// Lives are the seeds of the simulation that should: as many, from 0 on.
	Lives int

	changes []change
}

var (
	firstLine  = regexp.MustCompile(`^((?:[SL][1-7]|Slot)(?:, (?:[SL][1-7]|Slot))*): (.+)$`)
	secondLine = regexp.MustCompile(`^(plans|lives): (.+)$`)
)

// parseMutant reads a patch with its two lines of heading: "S3, S2: what it breaks"
// and "plans: <id> <id>…" or "lives: <n>".
func parseMutant(name, text string) (*mutant, error) {
	lines := strings.SplitN(text, "\n", 3)
	if len(lines) < 3 {
		return nil, fmt.Errorf("%s: it has no two lines of heading", name)
	}
	first, second := firstLine.FindStringSubmatch(lines[0]), secondLine.FindStringSubmatch(lines[1])
	if first == nil {
		return nil, fmt.Errorf("%s: its first line must be like 'S3, S2: what it breaks'", name)
	}
	if second == nil {
		return nil, fmt.Errorf("%s: its second line must be like 'plans: idle:expiry:*' or 'lives: 20'", name)
	}
	m := &mutant{Name: name, Breaks: first[2], Falls: strings.Split(first[1], ", ")}
	if second[1] == "plans" {
		m.Plans = strings.Fields(second[2])
	} else if n, err := fmt.Sscan(second[2], &m.Lives); n != 1 || err != nil || m.Lives < 1 {
		return nil, fmt.Errorf("%s: 'lives: %s' is no number of seeds", name, second[2])
	}
	var err error
	if m.changes, err = parseDiff(lines[2]); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// load reads the mutants, by name; all if none is named. A name may be cut short.
func load(names ...string) ([]*mutant, error) {
	entries, err := patches.ReadDir("patches")
	if err != nil {
		return nil, err
	}
	var all []*mutant
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".patch")
		if len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(name, n) }) {
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
		return nil, fmt.Errorf("no mutant is called %s: --list names all", strings.Join(names, " or "))
	}
	return all, nil
}

// mutated returns the files that the mutant changes, by their paths in the
// repository.
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
			return nil, errors.New(m.Name + ": it changes nothing in " + c.path)
		}
		files[c.path] = after
	}
	return files, nil
}
