// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// page is the page of the values. What differs between releases is that of a build without a release.
var (
	page    = filepath.Join("..", "..", "..", "..", "docs", "reference", "chart.md")
	ofPages = Release{Version: "0.1.0", Image: "controller:latest", Docs: "https://mapcontroller.dev/snapshotschedule/docs"}
)

// The page, the README and the schema are made of the comments in values.yaml. UPDATE_REFERENCE=1 writes the page.
func TestThePageTheReadmeAndTheSchemaHaveEveryValue(t *testing.T) {
	files, err := Build(kustomizeOnce(t), ofPages)
	if err != nil {
		t.Fatal(err)
	}
	described, err := newReference(files["values.yaml"], files["values.schema.json"])
	if err != nil {
		t.Fatal(err)
	}
	list := described.list.String()
	if !strings.Contains(files["README.md"], list) {
		t.Error("README.md of the chart lacks the list")
	}
	for name := range overrides {
		if !strings.Contains(list, "- `"+name+"` (") {
			t.Errorf("the list lacks %s", name)
		}
	}
	for path, begin := range map[string]string{
		"guardrails":          "Policies that refuse",
		"prometheus.interval": "How often the metrics",
		"fullnameOverride":    "Prefix of all object names",
	} {
		var schema map[string]any
		if err := yaml.Unmarshal([]byte(files["values.schema.json"]), &schema); err != nil {
			t.Fatal(err)
		}
		for name := range strings.SplitSeq(path, ".") {
			schema, _, _ = unstructured.NestedMap(schema, "properties", name)
		}
		if says, _ := schema["description"].(string); !strings.HasPrefix(says, begin) {
			t.Errorf("the schema of %s says %q", path, says)
		}
	}

	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- generated: values -->\n", "<!-- end of values -->"
	before, rest, _ := strings.Cut(string(text), begin)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatal("the page has no list of values")
	}
	want := before + begin + "\n" + list + "\n" + end + after
	if os.Getenv("UPDATE_REFERENCE") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("%s is out of date, run make docs", page)
	}
}

func TestAValueThatTheSchemaLacksIsAnError(t *testing.T) {
	_, err := newReference("a: 1\nb: 2\n", `{"properties": {"a": {}}}`)
	if err == nil || !strings.Contains(err.Error(), "lacks b") {
		t.Errorf("got %v", err)
	}
}
