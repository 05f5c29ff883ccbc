// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The pages claim only what was tried. README, chart and the nightly tests must not claim another range.
func TestVersionsAgreeWithTheTable(t *testing.T) {
	table := read(t, "docs/reference/versions.md")
	rows := regexp.MustCompile(`(?m)^\| (\d+\.\d+\.\d+) \| (\d+\.\d+\.\d+) \|`).FindAllStringSubmatch(table, -1)
	if len(rows) < 2 {
		t.Fatalf("docs/reference/versions.md has %d rows of versions", len(rows))
	}
	newest, oldest := rows[0], rows[len(rows)-1]
	minor := oldest[1][:strings.LastIndex(oldest[1], ".")]
	for path, want := range map[string]string{
		"README.md": "Kubernetes " + minor + " or newer",
		"hack/helm/internal/chart/skeleton/Chart.yaml": `kubeVersion: ">=` + minor + `.0-0"`,
		"hack/cluster/internal/recipe/versions.go":     `"` + newest[1] + `"`,
		"docs/run/install.md":                          "Kubernetes " + newest[1][:strings.LastIndex(newest[1], ".")],
	} {
		if !strings.Contains(read(t, path), want) {
			t.Errorf("%s does not contain %q", path, want)
		}
	}
	if current := read(t, "hack/cluster/internal/recipe/versions.go"); !strings.Contains(current, `"`+newest[2]+`"`) {
		t.Errorf("the local cluster does not use external-snapshotter %s", newest[2])
	}

	var nightly, older []string
	matrix := regexp.MustCompile(`\{kubernetes: ([\d.]+), snapshotter: ([\d.]+)\}`)
	for _, m := range matrix.FindAllStringSubmatch(read(t, ".github/workflows/nightly.yaml"), -1) {
		nightly = append(nightly, m[1]+" with "+m[2])
	}
	for _, row := range rows[1:] {
		older = append(older, row[1]+" with "+row[2])
	}
	slices.Sort(nightly)
	slices.Sort(older)
	if !slices.Equal(nightly, older) {
		t.Errorf("the nightly tests run on %q, docs/reference/versions.md names %q", nightly, older)
	}
}

func TestRunbookURLsBeginWithDocsURL(t *testing.T) {
	cmd := rootCommand("hack/render.sh", "config/monitoring", "example.com/a:v1")
	cmd.Env = append(cmd.Environ(), "DOCS_URL=https://wiki.example.com/docs")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	alerts := strings.Count(string(out), "- alert: ")
	if got := strings.Count(string(out), "runbook_url: https://wiki.example.com/docs/runbooks/"); alerts == 0 || got != alerts {
		t.Errorf("%d of %d alerts have a runbook_url that begins with DOCS_URL", got, alerts)
	}
}
