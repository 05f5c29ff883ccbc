// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// suite is a part of the tests. A mutant that survives one is tried against the next.
type suite struct {
	Name string
	// Packages are arguments of go test.
	Packages []string
	Args     []string
}

var suites = []suite{
	{"unit", []string{"./api/...", "./cmd/...", "./internal/..."}, []string{"-skip=^TestEngine$", "-timeout=5m"}},
	{"engine", []string{"./internal/mapcontroller/enginetest"}, []string{"-ginkgo.fail-fast", "-ginkgo.no-color", "-timeout=10m"}},
	{"integration", []string{"./test/integration"}, []string{"-ginkgo.fail-fast", "-ginkgo.no-color", "-timeout=20m"}},
	{"simulations", []string{"./test/faults/internal/simulation"}, // as many as it says
		[]string{"-run=^Test(Simulations|ClocksThatJump|LateCaches)$", "-timeout=20m", "-rapid.nofailfile", "-rapid.shrinktime=1ms"}},
}

func suiteNames() (names []string) {
	for _, s := range suites {
		names = append(names, s.Name)
	}
	return names
}

// argsFor returns the arguments of a suite for one mutant; ok is false if the suite has nothing for it. With -all, 20 simulations are for
// those that name no number.
func (s suite) argsFor(m *mutant) (args []string, ok bool) {
	if s.Name != "simulations" {
		return s.Args, true
	}
	return append(slices.Clone(s.Args), fmt.Sprintf("-rapid.checks=%d", cmp.Or(m.Simulations, 20))), *all || m.Simulations > 0
}

// kill is a suite that kills a mutant, by a test of a package. It is zero if the suite does not.
type kill struct{ Suite, Package, Test string }

func (k kill) String() string { return strings.TrimPrefix(k.Package, module) + " " + k.Test }

// matrix tries every mutant against the test that killed it according to the table of a page, and else against one suite after the
// other, until one kills it. With -all, it tries every suite.
func matrix(ctx context.Context, root string, mutants []*mutant, names []string, file string) error {
	survived := 0
	p, err := readPage(file)
	if err != nil {
		return err
	}
	for i, m := range mutants {
		began := time.Now()
		kills, err := m.try(ctx, root, p.row(m), names)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		verdict := fmt.Sprintf("killed by %s", kills)
		if len(kills) == 0 {
			survived++
			verdict = "SURVIVED"
		}
		if err != nil {
			verdict += fmt.Sprintf(", and a suite cannot be tried: %v", err)
		}
		fmt.Printf("%d/%d %s: %s (%.0f s)\n", i+1, len(mutants), m.Name, verdict, time.Since(began).Seconds())
		if p.setRow(m, kills); file != "" {
			if err := os.WriteFile(file, []byte(strings.Join(p.lines, "\n")+"\n"), 0o644); err != nil {
				return err
			}
		}
	}
	if survived > 0 {
		return fmt.Errorf("%d of %d mutants survived", survived, len(mutants))
	}
	return nil
}

// page is a page that ends with a table, whose rows begin at a line. Without a file, it is empty.
type page struct {
	lines []string
	rows  int
}

func readPage(file string) (p page, err error) {
	if file == "" {
		return p, nil
	}
	text, err := os.ReadFile(file)
	p = page{lines: strings.Split(strings.TrimSpace(string(text)), "\n")}
	p.rows = 1 + slices.IndexFunc(p.lines, func(line string) bool { return strings.HasPrefix(line, "| --- |") })
	return p, err
}

// row returns what killed a mutant, as far as a row says it.
func (p page) row(m *mutant) (kills []kill) {
	for _, line := range p.lines {
		cells := strings.Split(strings.TrimSuffix(line, " |"), " | ")
		if len(cells) != 4 || cells[0] != "| "+m.Name {
			continue
		}
		tests := strings.Split(cells[3], "<br>")
		for i, name := range strings.Split(cells[2], ", ") {
			if i < len(tests) && slices.Contains(suiteNames(), name) {
				pkg, test, _ := strings.Cut(tests[i], " ")
				kills = append(kills, kill{name, pkg, test})
			}
		}
	}
	return kills
}

// setRow replaces the row of a mutant.
func (p *page) setRow(m *mutant, kills []kill) {
	p.lines = slices.DeleteFunc(p.lines, func(line string) bool { return strings.HasPrefix(line, "| "+m.Name+" |") })
	var names, tests []string
	for _, k := range kills {
		names, tests = append(names, k.Suite), append(tests, k.String())
	}
	p.lines = append(p.lines, fmt.Sprintf("| %s | %s | %s | %s |", m.Name, m.Defect,
		cmp.Or(strings.Join(names, ", "), "none"), strings.Join(tests, "<br>")))
	slices.Sort(p.lines[p.rows:])
}

// try tries a mutant against the test that is known to kill it, if there is one, and then against the suites.
func (m *mutant) try(ctx context.Context, root string, known []kill, names []string) (kills []kill, err error) {
	dir, err := os.MkdirTemp("", "snapsched-mutant-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.writeOverlay(root, dir)
	if err != nil {
		return nil, err
	}
	if len(known) > 0 && !*all {
		s := known[0].again()
		if k, err := s.run(ctx, root, overlay, s.Args); err == nil && k.Suite != "" { // else the test may be gone, or elsewhere
			return known, nil
		}
	}
	// Most are killed by a unit test beside what they change.
	beside := suite{suites[0].Name, m.packages(), suites[0].Args}
	for _, s := range append([]suite{beside}, suites...) {
		args, ok := s.argsFor(m)
		if !ok || !slices.Contains(names, s.Name) || slices.ContainsFunc(kills, func(k kill) bool { return k.Suite == s.Name }) {
			continue
		}
		k, failed := s.run(ctx, root, overlay, args)
		if k.Suite != "" {
			kills = append(kills, k)
		}
		if err = errors.Join(err, failed); !*all && (err != nil || len(kills) > 0) {
			break
		}
	}
	return kills, err
}

// writeOverlay writes the mutated files and the overlay file for go test.
func (m *mutant) writeOverlay(root, dir string) (string, error) {
	files, err := m.mutated(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range files {
		copied := filepath.Join(dir, "mutated", path)
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, path)] = copied
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, list, 0o600)
}

// packages returns those of the mutated files, as arguments of go test.
func (m *mutant) packages() (all []string) {
	for _, c := range m.changes {
		if p := "./" + filepath.Dir(c.path); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

const module = "mapcontroller.dev/snapshotschedule/"

// node matches what Ginkgo writes of a spec's nodes into its text.
var node = regexp.MustCompile(`\[[A-Z][A-Za-z]*( \(Each\))?\] `)

// again returns the suite of a kill with nothing but the test that killed.
func (k kill) again() suite {
	s := suites[slices.Index(suiteNames(), k.Suite)]
	s.Packages = []string{"./" + strings.TrimPrefix(k.Package, module)}
	if strings.HasPrefix(k.Test, "Test") {
		var parts []string
		for part := range strings.SplitSeq(k.Test, "/") {
			parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
		}
		s.Args = append(slices.Clone(s.Args), "-run="+strings.Join(parts, "/"))
	} else {
		s.Args = append(slices.Clone(s.Args), "-ginkgo.focus="+regexp.QuoteMeta(node.ReplaceAllString(k.Test, "")))
	}
	return s
}

// event is a line of go test -json.
type event struct{ Action, Package, Test, Output, ImportPath string }

// spec is the line in which Ginkgo names a spec that failed.
var spec = regexp.MustCompile(`\[(?:FAIL|PANICKED|TIMEDOUT)\] (.*)`)

// run returns the first test of a suite that fails with an overlay and arguments of go test, as a kill; zero if all pass.
func (s suite) run(ctx context.Context, root, overlay string, args []string) (k kill, err error) {
	command := slices.Concat([]string{"-C", root, "test", "-json", "-failfast", "-overlay", overlay}, s.Packages, args)
	cmd := exec.CommandContext(ctx, "go", command...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return k, err
	}
	for line := range bytes.Lines(out) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		m := spec.FindStringSubmatch(e.Output)
		switch {
		case e.Action == "build-fail":
			return kill{}, fmt.Errorf("%s does not compile with it\n%s", e.ImportPath, stderr.String())
		case m != nil && k.Package == e.Package && strings.HasPrefix(k.Test, "Test"):
			k.Test = strings.TrimSpace(m[1])
		case m != nil:
			k = kill{s.Name, e.Package, strings.TrimSpace(m[1])}
		case e.Action == "fail" && (k.Package == "" || !strings.HasPrefix(k.Test, "Test")):
			k = kill{s.Name, e.Package, e.Test}
		}
	}
	if failed != nil && k.Package == "" {
		return kill{}, fmt.Errorf("go test: %w\n%s", failed, stderr.String())
	}
	return k, nil
}
