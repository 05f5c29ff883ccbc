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

// judgments are of the schedules in test/integration/testdata/conditions. Each is a row of the table on the page.
var judgments = map[string]judgment{
	"new":                     {"new, not seen by the operator yet", "Progressing", inProgress, inProgress},
	"edited-and-not-observed": {"changed, and the change not carried out yet", "Progressing", inProgress, inProgress},
	"reconciling":             {"`Ready=Unknown`, reason `Reconciling`", "Progressing", inProgress, inProgress},
	"scheduled":               {"`Ready=True`, reason `Scheduled`, and protected", "Healthy", current, current},
	"recovery-points-old":     {"`Ready=True`, but `Protected=False`", "Degraded", failed, current},
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
	"snapshot-api-missing":    {"`Ready=False`, reason `SnapshotAPIMissing`", "Degraded", failed, inProgress},

	"fleet-new":                    {"new, not seen by the operator yet", "Progressing", inProgress, inProgress},
	"fleet-reconciling":            {"`Ready=Unknown`, reason `Reconciling`", "Progressing", inProgress, inProgress},
	"fleet-scheduled":              {"`Ready=True`, reason `Scheduled`, and protected", "Healthy", current, current},
	"fleet-recovery-points-old":    {"`Ready=True`, but `Protected=False`", "Degraded", failed, current},
	"fleet-first-snapshots-made":   {"`Ready=True`, and the first snapshots are being made", "Progressing", current, current},
	"fleet-no-matching-namespaces": {"`Ready=True`, reason `NoMatchingNamespaces`", "Healthy", current, current},
	"fleet-schedules-failing":      {"`Ready=False`, reason `SchedulesFailing`", "Degraded", failed, inProgress},
	"fleet-invalid-spec":           {"`Ready=False`, reason `InvalidSpec`; `Stalled=True`", "Degraded", failed, failed},
	"fleet-snapshot-api-missing":   {"`Ready=False`, reason `SnapshotAPIMissing`", "Degraded", failed, inProgress},
}

func TestThePageListsEveryJudgment(t *testing.T) {
	page := read(t, "docs/gitops.md")
	for _, j := range judgments {
		if row := fmt.Sprintf("\n| %s | %s | %s | %s |\n", j.state, j.argo, j.flux, j.kstatus); !strings.Contains(page, row) {
			t.Errorf("the page has no row %s", row)
		}
	}
}

func TestArgoCDJudgesEverySchedule(t *testing.T) {
	for name, s := range schedules(t) {
		got := runLua(t, luaOf(t, s.GetKind()), s)
		if got.status != judgments[name].argo || got.message == "" {
			t.Errorf("%s: it is %q with message %q, want %q with a message", name, got.status, got.message, judgments[name].argo)
		}
		if ready := condition(s, "Ready"); got.status != "Progressing" && !strings.HasPrefix(got.message, ready["message"].(string)) {
			t.Errorf("%s: the message is %q, not that of condition Ready", name, got.message)
		}
		protected := condition(s, "Protected")
		if unsure := protected["status"] == "False" || protected["reason"] == "FirstSnapshotsPending"; got.status != "Progressing" &&
			unsure != strings.Contains(got.message, "protected: ") {
			t.Errorf("%s: protected is %v, and the message is %q", name, protected["reason"], got.message)
		}
		if paused := condition(s, "RetentionPaused")["status"] == "True"; paused != strings.Contains(got.message, "retention is paused") {
			t.Errorf("%s: retention is paused: %v, and the message is %q", name, paused, got.message)
		}
	}
}

// A schedule that was stored before the CRD had a default for status.
func TestArgoCDWaitsForAScheduleWithoutAStatus(t *testing.T) {
	s := schedules(t)["new"]
	delete(s.Object, "status")
	if got := runLua(t, luaOf(t, s.GetKind()), s); got.status != "Progressing" {
		t.Errorf("it is %q", got.status)
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

var reasonRow = regexp.MustCompile("(?m)^\\| `(Ready|Protected|Stalled|RetentionPaused)` \\| `(\\w+)` \\| `(\\w+)` \\|")

func TestEveryConditionIsJudged(t *testing.T) {
	ofSchedules, ofFleets, _ := strings.Cut(read(t, "docs/reference.md"), "\n## ClusterSnapshotSchedule\n")
	all := schedules(t)
	for kind, part := range map[string]string{"SnapshotSchedule": ofSchedules, "ClusterSnapshotSchedule": ofFleets} {
		rows := reasonRow.FindAllStringSubmatch(part, -1)
		if len(rows) < 6 {
			t.Fatalf("found only %d conditions of a %s in docs/reference.md", len(rows), kind)
		}
		for _, row := range rows {
			found := func(s *unstructured.Unstructured) bool {
				c := condition(s, row[1])
				return s.GetKind() == kind && c["status"] == row[2] && c["reason"] == row[3]
			}
			if !slices.ContainsFunc(slices.Collect(maps.Values(all)), found) {
				t.Errorf("no %s has %s=%s, reason %s: add a scenario to test/integration", kind, row[1], row[2], row[3])
			}
		}
	}
}

// schedules returns the schedules and fleets that the integration tests read from an API server.
func schedules(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	const dir = "test/integration/testdata/conditions"
	files, err := os.ReadDir(filepath.Join(root, dir))
	must(t, err)
	all := map[string]*unstructured.Unstructured{}
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

// luaOf returns the script for a kind from the ConfigMap of Argo CD on the page.
func luaOf(t *testing.T, kind string) string {
	t.Helper()
	var config struct {
		Metadata struct{ Name string }
		Data     map[string]string
	}
	decode(t, "ConfigMap", &config)
	script := config.Data["resource.customizations.health.snapshots.mapcontroller.dev_"+kind]
	if config.Metadata.Name != "argocd-cm" || script == "" {
		t.Fatalf("the page has no health check for Argo CD: %+v", config)
	}
	return script
}

// celOf returns the expressions for a kind from the Kustomization of Flux on the page.
func celOf(t *testing.T, kind string) *kustomize.HealthCheckExpressions {
	t.Helper()
	var kustomization struct {
		Spec struct{ HealthCheckExprs []kustomize.CustomHealthCheck }
	}
	decode(t, "Kustomization", &kustomization)
	for _, check := range kustomization.Spec.HealthCheckExprs {
		if check.APIVersion == "snapshots.mapcontroller.dev/v1alpha1" && check.Kind == kind {
			return &check.HealthCheckExpressions
		}
	}
	t.Fatal("the page has no health check for Flux")
	return nil
}

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// decode decodes the first YAML block of a kind on the page.
func decode(t *testing.T, kind string, into any) {
	t.Helper()
	for _, block := range yamlBlock.FindAllStringSubmatch(read(t, "docs/gitops.md"), -1) {
		if strings.Contains(block[1], "\nkind: "+kind+"\n") {
			must(t, yaml.Unmarshal([]byte(block[1]), into))
			return
		}
	}
	t.Fatalf("docs/gitops.md has no %s", kind)
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
