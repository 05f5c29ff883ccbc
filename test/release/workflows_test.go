// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow is the part of a workflow that these tests read.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Environment string
		Permissions map[string]string
		Steps       []struct {
			Uses string
			With map[string]any
		}
	}
}

// A tag can be moved to other code, a commit cannot. An action of somebody else would get the permissions of the job, too.
var pinned = regexp.MustCompile(`^ *- uses: ([\w-]+/[\w-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+$`)

func TestActionsArePinnedByCommit(t *testing.T) {
	commits := map[string]string{}
	for name, text := range workflows(t) {
		for line := range strings.Lines(text) {
			if !strings.Contains(line, "uses:") {
				continue
			}
			m := pinned.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil {
				t.Errorf("%s: %q is not of the form owner/name@commit # version", name, strings.TrimSpace(line))
				continue
			}
			if !strings.HasPrefix(m[1], "actions/") {
				t.Errorf("%s: %s is not one of GitHub's own actions", name, m[1])
			}
			if other, ok := commits[m[1]]; ok && other != m[2] {
				t.Errorf("%s: %s has another commit elsewhere", name, m[1])
			}
			commits[m[1]] = m[2]
		}
	}
	if len(commits) == 0 {
		t.Error("found no actions")
	}
}

// A checkout with credentials leaves the token in .git/config, where every later step and program can read it. A job that publishes waits
// for the reviewers of its environment, which CONTRIBUTING.md says how to create, and is the only one with write permissions.
func TestJobsHandleCredentialsWithCare(t *testing.T) {
	checkouts, writers := 0, 0
	for name, text := range workflows(t) {
		w := parse(t, text)
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: all jobs have the permissions %v, want contents: read", name, w.Permissions)
		}
		for job, j := range w.Jobs {
			for _, step := range j.Steps {
				if !strings.HasPrefix(step.Uses, "actions/checkout@") {
					continue
				}
				checkouts++
				if step.With["persist-credentials"] != false {
					t.Errorf("%s: job %s: a checkout without persist-credentials: false", name, job)
				}
			}
			if slices.Contains(slices.Collect(maps.Values(j.Permissions)), "write") {
				writers++
				if j.Environment != "release" {
					t.Errorf("%s: job %s may write, but has the environment %q", name, job, j.Environment)
				}
			}
		}
	}
	if checkouts == 0 || writers != 1 {
		t.Errorf("found %d checkouts, and %d jobs that may write instead of one", checkouts, writers)
	}
	if !strings.Contains(read(t, "CONTRIBUTING.md"), "environment `release`") {
		t.Error("CONTRIBUTING.md does not describe the environment `release`")
	}
}

// An unreachable database is no result: hack/verify-vulnerabilities.sh fails then.
func TestWorkflowsRequireTheVulnerabilityDatabase(t *testing.T) {
	checks := 0
	for name, text := range workflows(t) {
		if !strings.Contains(text, "lint") {
			continue
		}
		checks++
		if !strings.Contains(text, "\nenv:\n  REQUIRE_VULNDB: 1\n") {
			t.Errorf("%s does not set REQUIRE_VULNDB", name)
		}
	}
	if checks != 3 {
		t.Errorf("%d workflows run linters, want CI, Nightly and Release", checks)
	}
}

// A fake govulncheck reports what the real one does when it cannot reach its database.
func TestVulnerabilityCheckIsSkippedOnlyWhereNobodyRequiresIt(t *testing.T) {
	folder := t.TempDir()
	fake := filepath.Join(folder, "govulncheck")
	for name, c := range map[string]struct {
		says  string
		exit  int
		env   []string
		fails bool
	}{
		"unreachable":                      {says: "fetching vulnerabilities: dial tcp: no such host", exit: 1},
		"unreachable in CI":                {says: "fetching vulnerabilities: 403", exit: 1, env: []string{"CI=true"}},
		"unreachable, required":            {says: "fetching vulnerabilities: 403", exit: 1, env: []string{"REQUIRE_VULNDB=1"}, fails: true},
		"unreachable, a mirror":            {says: "fetching vulnerabilities: 403", exit: 1, env: []string{"GOVULNDB=https://e.com"}, fails: true},
		"vulnerable":                       {says: "Your code is affected by 1 vulnerability.", exit: 3, fails: true},
		"clean":                            {says: "No vulnerabilities found."},
		"clean, required, with its mirror": {says: "No vulnerabilities found.", env: []string{"REQUIRE_VULNDB=1", "GOVULNDB=https://e.com"}},
	} {
		script := fmt.Sprintf("#!/bin/sh\necho '%s'\nexit %d\n", c.says, c.exit)
		if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := rootCommand("hack/verify-vulnerabilities.sh")
		cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool {
			return strings.HasPrefix(v, "REQUIRE_VULNDB=") || strings.HasPrefix(v, "GOVULNDB=")
		})
		cmd.Env = append(append(cmd.Env, "GOVULNCHECK="+fake), c.env...)
		out, err := cmd.CombinedOutput()
		if (err != nil) != c.fails {
			t.Errorf("%s: failed %t, want %t\n%s", name, err != nil, c.fails, out)
		}
	}
}

func parse(t *testing.T, text string) workflow {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	if len(w.Jobs) == 0 {
		t.Fatal("no jobs")
	}
	return w
}
