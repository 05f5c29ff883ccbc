// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recording keeps true what pages of docs/ show of terminals, and the pictures there. A page has the place
// "<!-- recording: NAME -->" and a block of code after it, which a test compares with what it has seen.
package recording

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// Update is the environment variable with which a recording is written instead of compared.
const Update = "UPDATE_RECORDINGS"

// Recording is what a terminal shows. What differs each time, which are times, UIDs and the hashes of names, it replaces by what is the same
// each time.
type Recording struct {
	text  strings.Builder
	names []string
}

// Call replaces a name of the test's by one that readers understand.
func (r *Recording) Call(name, shown string) { r.names = append(r.names, name, shown) }

// Ran adds a command, and what it printed.
func (r *Recording) Ran(command, output string) {
	fmt.Fprintf(&r.text, "$ %s\n%s\n", command, strings.TrimRight(output, "\n"))
}

// uids, times, hashes and ids are what differs each time.
var (
	uids   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	times  = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z|\b[0-9]{14}\b`)
	hashes = regexp.MustCompile(`[0-9]-[a-z2-7]{10}\b|copy-[0-9a-f]{8,32}\b`)
	// ids are those of rollbacks.
	ids = regexp.MustCompile(`(?:[Rr]ollback[ -]|--undo=)[0-9a-f]{8}\b`)
)

// String returns the text as pages show it.
func (r *Recording) String() string {
	text := strings.NewReplacer(r.names...).Replace(r.text.String())
	text = replaced(text, uids, func(_ string, n int) string { return fmt.Sprintf("5f2c6f0e-7d1b-4c47-9a4e-%012d", n+1) })
	text = replaced(text, hashes, func(s string, n int) string {
		return fmt.Sprintf("%s-k7xq2m%04d", s[:strings.LastIndex(s, "-")], 2222+n)
	})
	rollbacks := map[string]int{}
	text = ids.ReplaceAllStringFunc(text, func(s string) string {
		before, id := s[:len(s)-8], s[len(s)-8:]
		if rollbacks[id] == 0 {
			rollbacks[id] = len(rollbacks) + 1
		}
		return fmt.Sprintf("%s4d3c2b%02x", before, rollbacks[id])
	})
	// Times become others in the same order.
	all := map[string]time.Time{}
	for _, s := range times.FindAllString(text, -1) {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			at, err = time.Parse(compact, s)
		}
		if err == nil {
			all[s] = at
		}
	}
	distinct := slices.CompactFunc(slices.SortedFunc(maps.Values(all), time.Time.Compare), time.Time.Equal)
	return times.ReplaceAllStringFunc(text, func(s string) string {
		n, _ := slices.BinarySearchFunc(distinct, all[s], time.Time.Compare)
		shown := time.Date(2026, 11, 21, 9, n, 0, 0, time.UTC)
		if len(s) == len(compact) {
			return shown.Format(compact)
		}
		return shown.Format(time.RFC3339)
	})
}

// compact is the form of times in the names of snapshots.
const compact = "20060102150405"

// replaced replaces each of different texts by another one.
func replaced(text string, pattern *regexp.Regexp, shown func(s string, n int) string) string {
	seen := map[string]string{}
	return pattern.ReplaceAllStringFunc(text, func(s string) string {
		if seen[s] == "" {
			seen[s] = shown(s, len(seen))
		}
		return seen[s]
	})
}

// File compares a file of docs/ with what it must hold, or writes it.
func File(name, text string) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	file := filepath.Join(root, "docs", name)
	if os.Getenv(Update) != "" {
		return os.WriteFile(file, []byte(text), 0o644)
	}
	was, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(string(was), text); diff != "" {
		return fmt.Errorf("docs/%s shows something else (-shown +seen; %s=1 writes it):\n%s", name, Update, diff)
	}
	return nil
}

// Check compares the recording with that of a name in a page of docs/, or writes it there.
func (r *Recording) Check(page, name string) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	file := filepath.Join(root, "docs", page)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin := fmt.Sprintf("<!-- recording: %s -->\n```console\n", name)
	before, rest, found := strings.Cut(string(text), begin)
	was, after, ended := strings.Cut(rest, "```\n")
	if !found || !ended {
		return fmt.Errorf("docs/%s has no place for a recording: %q and the end of a block of code", page, begin)
	}
	if os.Getenv(Update) != "" {
		return os.WriteFile(file, []byte(before+begin+r.String()+"```\n"+after), 0o644)
	}
	if diff := cmp.Diff(was, r.String()); diff != "" {
		return fmt.Errorf("docs/%s shows another %s (-shown +seen; %s=1 writes it):\n%s", page, name, Update, diff)
	}
	return nil
}
