// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
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
	// Packages are arguments of go test. Those of the mutated files go first.
	Packages []string
	Args     []string
}

var suites = []suite{
	{"unit", []string{"./api/...", "./cmd/...", "./internal/..."}, []string{"-skip=^TestEngine$", "-timeout=5m"}},
	{"engine", []string{"./internal/mapcontroller/enginetest"}, []string{"-ginkgo.fail-fast", "-timeout=10m"}},
	{"integration", []string{"./test/integration"}, []string{"-ginkgo.fail-fast", "-timeout=20m"}},
	{"faults", []string{"./test/faults/inprocess"}, []string{"-count=1", "-timeout=20m"}}, // on the local cluster: the plans of each
}

// argsFor returns the arguments of a suite for one mutant; ok is false if the suite has nothing for it.
func (s suite) argsFor(m *mutant) (args []string, ok bool) {
	if s.Name != "faults" {
		return s.Args, true
	}
	var tests []string
	for _, id := range m.Plans {
		parts := strings.SplitN(id, ":", 3)
		if parts[0] == "reference" {
			parts[0] = "idle" // which begins with the runs without faults
		}
		point := strings.ReplaceAll(regexp.QuoteMeta(parts[2]), `\*`, ".*")
		tests = append(tests, fmt.Sprintf("^TestFaults$/^%s$/^%s$/^%s$", parts[0], parts[1], strings.ReplaceAll(point, "/", "$/^")))
	}
	return append(slices.Clone(s.Args), "-run="+strings.Join(tests, "|")), len(tests) > 0
}

// kill is how a mutant fares against the suites.
type kill struct {
	Mutant string `json:"mutant"`
	// Suite is the first that kills it, by a test of a package; empty if none does.
	Suite   string  `json:"suite,omitempty"`
	Package string  `json:"package,omitempty"`
	Test    string  `json:"test,omitempty"`
	Seconds float64 `json:"seconds"`
	// Error says why it could not be tried.
	Error string `json:"error,omitempty"`
}

func (k kill) String() string {
	switch {
	case k.Error != "":
		return fmt.Sprintf("%s: cannot be tried: %s", k.Mutant, k.Error)
	case k.Suite == "":
		return fmt.Sprintf("%s: SURVIVED (%.0f s)", k.Mutant, k.Seconds)
	}
	return fmt.Sprintf("%s: killed by %s: %s %s (%.0f s)", k.Mutant, k.Suite, k.Package, k.Test, k.Seconds)
}

// matrix tries every mutant against one suite after the other, until one kills it.
func matrix(ctx context.Context, root string, mutants []*mutant, names []string) error {
	survived := 0
	for _, m := range mutants {
		k := m.try(ctx, root, names)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if k.Suite == "" {
			survived++
		}
		fmt.Fprintln(os.Stderr, k)
		if err := json.NewEncoder(os.Stdout).Encode(k); err != nil {
			return err
		}
	}
	if survived > 0 {
		return fmt.Errorf("%d of %d mutants survived", survived, len(mutants))
	}
	return nil
}

func (m *mutant) try(ctx context.Context, root string, names []string) kill {
	began, k := time.Now(), kill{Mutant: m.Name}
	err := func() error {
		dir, err := os.MkdirTemp("", "snapsched-mutant-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		overlay, err := m.writeOverlay(root, dir)
		if err != nil {
			return err
		}
		for _, s := range suites {
			if len(names) > 0 && !slices.Contains(names, s.Name) {
				continue
			}
			runs := [][]string{s.Packages}
			if s.Name == "unit" {
				runs = [][]string{m.packages(), s.Packages}
			}
			args, ok := s.argsFor(m)
			for _, packages := range runs {
				if !ok {
					break
				}
				if k.Package, k.Test, err = run(ctx, root, append([]string{"-overlay", overlay}, packages...), args); err != nil {
					return err
				}
				if k.Package != "" {
					k.Suite = s.Name
					return nil
				}
			}
		}
		return nil
	}()
	if err != nil {
		k.Error = err.Error()
	}
	k.Seconds = time.Since(began).Seconds()
	return k
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

// event is a line of go test -json.
type event struct{ Action, Package, Test, Output, ImportPath string }

// spec is the line in which Ginkgo names a spec that failed.
var spec = regexp.MustCompile(`\[(?:FAIL|PANICKED|TIMEDOUT)\] (.*)`)

// run returns the first test that fails with some arguments of go test; nothing if all pass.
func run(ctx context.Context, root string, args ...[]string) (pkg, test string, err error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-failfast"}, slices.Concat(args...)...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var failed *exec.ExitError
	if err == nil || !errors.As(err, &failed) {
		return "", "", err
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		m := spec.FindStringSubmatch(e.Output)
		switch {
		case e.Action == "build-fail":
			return "", "", fmt.Errorf("%s does not compile with it\n%s", e.ImportPath, stderr.String())
		case m != nil && pkg == e.Package && strings.HasPrefix(test, "Test"):
			test = strings.TrimSpace(m[1])
		case m != nil:
			pkg, test = e.Package, strings.TrimSpace(m[1])
		case e.Action == "fail" && (pkg == "" || !strings.HasPrefix(test, "Test")):
			pkg, test = e.Package, e.Test
		}
	}
	if pkg == "" {
		return "", "", fmt.Errorf("go test: %w\n%s", failed, stderr.String())
	}
	return pkg, test, nil
}
