// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/hack/docs/reference"
	"mapcontroller.dev/snapshotschedule/internal/cli"
)

func TestGeneratedPartsAreCurrent(t *testing.T) {
	page := read(t, reference.File)
	fresh, err := reference.Generate(root, []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(page, "\n"), strings.Split(string(fresh), "\n")); diff != "" {
		t.Errorf("%s is out of date, run make docs\n%s", reference.File, diff)
	}
}

func TestEveryCommandIsOnItsPage(t *testing.T) {
	page := read(t, filepath.Join("docs", "cli.md"))
	for _, c := range cli.NewCommand(genericiooptions.NewTestIOStreamsDiscard(), clock.RealClock{}).Commands() {
		if c.IsAvailableCommand() && !strings.Contains(page, "`"+c.Name()+"`") {
			t.Errorf("docs/cli.md has no command %s", c.Name())
		}
	}
}

// This test finds the names without the generator, which may have forgotten one.
func TestReferenceIsComplete(t *testing.T) {
	page := read(t, reference.File)
	names := map[string][]string{
		"field":                          fieldPaths("", reflect.TypeFor[v1alpha1.SnapshotSchedule]()),
		"label, annotation or finalizer": prefixed(t),
		"condition type or reason":       constants(t, "conditions.go", `(?m)^\s*(?:Condition|Reason)\w+\s*=\s*"(\w+)"`),
		"printer column":                 constants(t, "snapshotschedule_types.go", `printcolumn:name="(\w+)"`),
	}
	for kind, all := range names {
		if len(all) == 0 {
			t.Errorf("found no %s in the code", kind)
		}
		for _, name := range all {
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("%s has no %s `%s`", reference.File, kind, name)
			}
		}
	}
}

// The runbooks lead to the page of problems, which explains every reason that status.problems may have.
func TestEveryProblemIsExplained(t *testing.T) {
	page, conditions := read(t, filepath.Join("docs", "reference", "problems.md")), read(t, filepath.Join("api", "v1alpha1", "conditions.go"))
	_, problems, _ := strings.Cut(conditions, "// Reasons of Warning events.")
	problems, _, _ = strings.Cut(problems, "// Reasons for which a PVC is skipped.")
	reasons := matches(problems, `Reason\w+ = "(\w+)"`)
	if len(reasons) < 10 {
		t.Fatalf("found only %q", reasons)
	}
	for _, reason := range reasons {
		if !strings.Contains(page, "`"+reason+"`") {
			t.Errorf("docs/reference/problems.md does not explain %s", reason)
		}
	}
}

// fieldPaths returns the paths of all fields, such as spec.retention.keep.last.
func fieldPaths(path string, t reflect.Type) []string {
	var all []string
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "metadata" && path == "" || strings.Contains(options, "inline") {
			continue
		}
		inner := strings.TrimPrefix(path+"."+name, ".")
		if path != "" {
			all = append(all, inner)
		}
		kind := field.Type
		if kind.Kind() == reflect.Slice {
			kind, inner = kind.Elem(), inner+"[]"
		}
		if kind.Kind() == reflect.Struct && kind.PkgPath() == reflect.TypeFor[v1alpha1.Duration]().PkgPath() {
			all = append(all, fieldPaths(inner, kind)...)
		}
	}
	return all
}

// constants returns the first group of each match in a file of the API package.
func constants(t *testing.T, file, pattern string) []string {
	t.Helper()
	return matches(read(t, filepath.Join("api", "v1alpha1", file)), pattern)
}

func prefixed(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, name := range constants(t, "labels.go", `=\s*Prefix \+ "([a-z-]+)"`) {
		all = append(all, v1alpha1.Prefix+name)
	}
	return all
}

func matches(text, pattern string) []string {
	var all []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

func TestEveryFieldOfTheSpecHasAValidExample(t *testing.T) {
	spec, _, _ := strings.Cut(read(t, reference.File), "<!-- end of spec -->")
	examples := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(spec\\.[^`]+)` .*\\| `([^`]+)` \\|$").FindAllStringSubmatch(spec, -1) {
		examples[m[1]] = m[2]
	}
	for _, path := range fieldPaths("", reflect.TypeFor[v1alpha1.SnapshotSchedule]()) {
		object := examples[path]
		if !strings.HasPrefix(path, "spec.") {
			continue
		}
		names := strings.Split(path, ".")
		for _, name := range slices.Backward(names) {
			if list, ok := strings.CutSuffix(name, "[]"); ok {
				name, object = list, "["+object+"]"
			}
			object = "{" + name + ": " + object + "}"
		}
		if err := yaml.UnmarshalStrict([]byte(object), &v1alpha1.SnapshotSchedule{}); err != nil || examples[path] == "" {
			t.Errorf("%s: %v", object, err)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
