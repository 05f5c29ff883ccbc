// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// root is the repository's root.
const root = "../../.."

// judgment is what each tool makes of a schedule.
type judgment struct {
	// state is how the page describes the schedule.
	state string
	argo  string
	// kstatus is that of Flux without a health check, of Helm and of others.
	flux, kstatus status.Status
}

const (
	inProgress = status.InProgressStatus
	failed     = status.FailedStatus
	current    = status.CurrentStatus
)

// checks has, by kind, the health check of Argo CD, its tests, and the objects that they are of.
const checks = "config/gitops/argo-cd/resource_customizations/snapshots.mapcontroller.dev"

var kinds = []string{"SnapshotSchedule", "ClusterSnapshotSchedule"}

// judgments are of the objects in checks. Each is a row of the table on the page.
var judgments = map[string]judgment{
	"new":                     {"new, not seen by the operator yet", "Progressing", inProgress, inProgress},
	"edited-and-not-observed": {"changed, and the change not carried out yet", "Progressing", inProgress, inProgress},
	"reconciling":             {"`Ready=Unknown`, reason `Reconciling`", "Progressing", inProgress, inProgress},
	"scheduled":               {"`Ready=True`, reason `Scheduled`, and protected", "Healthy", current, current},
	"recovery-points-old":     {"`Ready=True`, but `Protected=False`", "Degraded", failed, current},
	"not-snapshottable":       {"`Ready=True`, but `Protected=False`", "Degraded", failed, current},
	"first-snapshots-made":    {"`Ready=True`, and the first snapshots are being made", "Progressing", current, current},
	"first-slot-not-due":      {"`Ready=True`, and the first slot is not due", "Healthy", current, current},
	"no-matching-claims":      {"`Ready=True`, reason `NoMatchingClaims`", "Healthy", current, current},
	"suspended":               {"`Ready=True`, reason `Suspended`, and not unprotected", "Suspended", current, current},
	"clock-skew":              {"`Ready=True`, but `RetentionPaused=True`", "Healthy", current, current},
	"spec-changed":            {"`Ready=True`, and the first snapshots are being made", "Progressing", current, current},
	"snapshots-adopted":       {"`Ready=True`, but `RetentionPaused=True`", "Healthy", current, current},
	"invalid-spec":            {"`Ready=False`, reason `InvalidSpec`; `Stalled=True`", "Degraded", failed, failed},
	"snapshots-failing":       {"`Ready=False`, reason `SnapshotsFailing`", "Degraded", failed, inProgress},
	"retention-failing":       {"`Ready=False`, reason `RetentionFailing`", "Degraded", failed, inProgress},
	"spec-differs":            {"`Ready=False`, reason `SpecDiffers`", "Degraded", failed, inProgress},
	"snapshot-api-missing":    {"`Ready=False`, reason `SnapshotAPIMissing`", "Degraded", failed, inProgress},

	"fleet-new":                    {"new, not seen by the operator yet", "Progressing", inProgress, inProgress},
	"fleet-reconciling":            {"`Ready=Unknown`, reason `Reconciling`", "Progressing", inProgress, inProgress},
	"fleet-scheduled":              {"`Ready=True`, reason `Scheduled`, and protected", "Healthy", current, current},
	"fleet-recovery-points-old":    {"`Ready=True`, but `Protected=False`", "Degraded", failed, current},
	"fleet-not-snapshottable":      {"`Ready=True`, but `Protected=False`", "Degraded", failed, current},
	"fleet-first-snapshots-made":   {"`Ready=True`, and the first snapshots are being made", "Progressing", current, current},
	"fleet-no-matching-namespaces": {"`Ready=True`, reason `NoMatchingNamespaces`", "Healthy", current, current},
	"fleet-schedules-failing":      {"`Ready=False`, reason `SchedulesFailing`", "Degraded", failed, inProgress},
	"fleet-invalid-spec":           {"`Ready=False`, reason `InvalidSpec`; `Stalled=True`", "Degraded", failed, failed},
	"fleet-snapshot-api-missing":   {"`Ready=False`, reason `SnapshotAPIMissing`", "Degraded", failed, inProgress},
}

func TestThePageListsEveryJudgment(t *testing.T) {
	page, short := read(t, "docs/contribute/gitops.md"), read(t, "docs/run/gitops.md")
	shown := map[string]bool{}
	for _, j := range judgments {
		row := fmt.Sprintf("\n| %s | %s | %s | %s |\n", j.state, j.argo, j.flux, j.kstatus)
		if !strings.Contains(page, row) {
			t.Errorf("the page has no row %s", row)
		}
		if strings.Contains(short, row) {
			shown[row] = true
		}
	}
	if rows := strings.Count(short, "\n| `Ready="); rows < 5 || len(shown) != rows {
		t.Errorf("docs/run/gitops.md has %d rows, of which %d are judgments", rows, len(shown))
	}
}

func TestArgoCDJudgesEverySchedule(t *testing.T) {
	for name, s := range schedules(t) {
		got := runLua(t, luaOf(t, s.GetKind()), s)
		if got.Status != judgments[name].argo || got.Message == "" {
			t.Errorf("%s: it is %q with message %q, want %q with a message", name, got.Status, got.Message, judgments[name].argo)
		}
		if ready := condition(s, "Ready"); got.Status != "Progressing" && !strings.HasPrefix(got.Message, ready["message"].(string)) {
			t.Errorf("%s: the message is %q, not that of condition Ready", name, got.Message)
		}
		protected := condition(s, "Protected")
		if unsure := protected["status"] == "False" || protected["reason"] == "FirstSnapshotsPending"; got.Status != "Progressing" &&
			unsure != strings.Contains(got.Message, "protected: ") {
			t.Errorf("%s: protected is %v, and the message is %q", name, protected["reason"], got.Message)
		}
		if paused := condition(s, "RetentionPaused")["status"] == "True"; paused != strings.Contains(got.Message, "retention is paused") {
			t.Errorf("%s: retention is paused: %v, and the message is %q", name, paused, got.Message)
		}
	}
}

// While the first group snapshots are being made, nothing is there to go back to either.
func TestArgoCDWaitsForTheFirstGroupSnapshots(t *testing.T) {
	all := schedules(t)
	for name, path := range map[string][]string{"first-snapshots-made": {"status", "outputs"}, "fleet-first-snapshots-made": {"status"}} {
		s := all[name]
		single, group := "volumesnapshots", "volumegroupsnapshots"
		if s.GetKind() == "ClusterSnapshotSchedule" {
			single, group = "volumeSnapshots", "volumeGroupSnapshots"
		}
		counts, found, err := unstructured.NestedMap(s.Object, append(slices.Clone(path), single)...)
		if !found || err != nil {
			t.Fatal(name, found, err)
		}
		for field, value := range map[string]any{group: counts, single: map[string]any{"total": int64(0), "ready": int64(0)}} {
			if err := unstructured.SetNestedField(s.Object, value, append(slices.Clone(path), field)...); err != nil {
				t.Fatal(err)
			}
		}
		if got := runLua(t, luaOf(t, s.GetKind()), s); got.Status != "Progressing" {
			t.Errorf("%s, of groups: it is %q, want Progressing", name, got.Status)
		}
	}
}

// Upstream, Argo CD's own tests read health_test.yaml.
func TestArgoCDsTestsListEverySchedule(t *testing.T) {
	type entry struct {
		HealthStatus health `json:"healthStatus"`
		InputPath    string `json:"inputPath"`
	}
	type tests struct {
		Tests []entry `json:"tests"`
	}
	for _, kind := range kinds {
		want := tests{}
		all := schedules(t)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if s := all[name]; s.GetKind() == kind {
				want.Tests = append(want.Tests, entry{HealthStatus: runLua(t, luaOf(t, kind), s), InputPath: "testdata/" + name + ".yaml"})
			}
		}
		text, err := yaml.Marshal(want)
		must(t, err)
		file := filepath.Join(root, checks, kind, "health_test.yaml")
		if os.Getenv("UPDATE_CONDITIONS") != "" {
			must(t, os.WriteFile(file, text, 0o644))
		}
		got, err := os.ReadFile(file)
		must(t, err)
		if string(got) != string(text) {
			t.Errorf("%s is out of step: UPDATE_CONDITIONS=1 writes it", file)
		}
	}
}

// A schedule that was stored before the CRD had a default for status.
func TestArgoCDWaitsForAScheduleWithoutAStatus(t *testing.T) {
	s := schedules(t)["new"]
	delete(s.Object, "status")
	if got := runLua(t, luaOf(t, s.GetKind()), s); got.Status != "Progressing" {
		t.Errorf("it is %q", got.Status)
	}
}

func TestFluxJudgesEverySchedule(t *testing.T) {
	for name, s := range schedules(t) {
		evaluator, err := cel.NewStatusEvaluator(celOf(t, s.GetKind()))
		must(t, err)
		got, err := evaluator.Evaluate(t.Context(), s)
		if err != nil || got.Status != judgments[name].flux {
			t.Errorf("%s: it is %v, %v, want %s", name, got, err, judgments[name].flux)
		}
	}
}

func TestKstatusJudgesEverySchedule(t *testing.T) {
	for name, s := range schedules(t) {
		got, err := status.Compute(s)
		if err != nil || got.Status != judgments[name].kstatus {
			t.Errorf("%s: it is %v, %v, want %s", name, got, err, judgments[name].kstatus)
		}
	}
}

// conditionRow matches a condition in the table of a page: its reasons while it is True, False and Unknown.
var (
	conditionRow = regexp.MustCompile("(?m)^\\| `(Ready|Protected|Stalled|RetentionPaused)` \\|(.*)\\|(.*)\\|(.*)\\|$")
	inCode       = regexp.MustCompile("`(\\w+)`")
)

func TestEveryConditionIsJudged(t *testing.T) {
	all := schedules(t)
	for kind, page := range map[string]string{"SnapshotSchedule": "conditions.md", "ClusterSnapshotSchedule": "clustersnapshotschedule.md"} {
		rows := 0
		for _, row := range conditionRow.FindAllStringSubmatch(read(t, "docs/reference/"+page), -1) {
			for i, status := range []string{"True", "False", "Unknown"} {
				for _, reason := range inCode.FindAllStringSubmatch(row[2+i], -1) {
					rows++
					found := func(s *unstructured.Unstructured) bool {
						c := condition(s, row[1])
						return s.GetKind() == kind && c["status"] == status && c["reason"] == reason[1]
					}
					if !slices.ContainsFunc(slices.Collect(maps.Values(all)), found) {
						t.Errorf("no %s has %s=%s, reason %s: add a scenario to test/integration", kind, row[1], status, reason[1])
					}
				}
			}
		}
		if rows < 14 {
			t.Fatalf("found only %d conditions of a %s in docs/reference/%s", rows, kind, page)
		}
	}
}

// schedules returns the schedules and fleets that the integration tests read from an API server, by the names of their files.
func schedules(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for _, kind := range kinds {
		dir := filepath.Join(checks, kind, "testdata")
		files, err := os.ReadDir(filepath.Join(root, dir))
		must(t, err)
		for _, file := range files {
			name := strings.TrimSuffix(file.Name(), ".yaml")
			if _, ok := judgments[name]; !ok {
				t.Errorf("it is not known what the tools make of %s", name)
			}
			text, err := yaml.YAMLToJSON([]byte(read(t, filepath.Join(dir, file.Name()))))
			must(t, err)
			all[name] = &unstructured.Unstructured{}
			must(t, all[name].UnmarshalJSON(text)) // with integers, as a client has them
		}
	}
	if len(all) != len(judgments) {
		t.Errorf("%d schedules, but %d judgments", len(all), len(judgments))
	}
	return all
}

func condition(s *unstructured.Unstructured, kind string) map[string]any {
	all, _, _ := unstructured.NestedSlice(s.Object, "status", "conditions")
	for _, c := range all {
		if c := c.(map[string]any); c["type"] == kind {
			return c
		}
	}
	return nil
}

// luaOf returns Argo CD's script for a kind.
func luaOf(t *testing.T, kind string) string {
	t.Helper()
	return read(t, filepath.Join(checks, kind, "health.lua"))
}

// celOf returns the expressions for a kind from the Kustomization of Flux.
func celOf(t *testing.T, kind string) *kustomize.HealthCheckExpressions {
	t.Helper()
	var kustomization struct {
		Spec struct{ HealthCheckExprs []kustomize.CustomHealthCheck }
	}
	must(t, yaml.Unmarshal([]byte(read(t, "config/gitops/flux/clusters/production/schedules.yaml")), &kustomization))
	for _, check := range kustomization.Spec.HealthCheckExprs {
		if check.APIVersion == "snapshots.mapcontroller.dev/v1alpha1" && check.Kind == kind {
			return &check.HealthCheckExpressions
		}
	}
	t.Fatal("Flux has no health check for a " + kind)
	return nil
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	must(t, err)
	return string(text)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
