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
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/hack/docs/reference"
	"mapcontroller.dev/snapshotschedule/internal/cli"
)

func TestGeneratedPartsAreCurrent(t *testing.T) {
	fresh, err := reference.Generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range fresh {
		if diff := cmp.Diff(strings.Split(read(t, filepath.Join(reference.Folder, name)), "\n"), strings.Split(text, "\n")); diff != "" {
			t.Errorf("%s is out of date, run make docs\n%s", name, diff)
		}
	}
}

// The page of a command has its help, and what it needs. A page without a command is of one that is gone.
func TestEveryCommandHasAPage(t *testing.T) {
	var want []string
	for _, c := range cli.NewCommand(genericiooptions.NewTestIOStreamsDiscard(), clock.RealClock{}).Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		name := filepath.Join(reference.Folder, "cli", c.Name()+".md")
		want = append(want, filepath.Join(root, name))
		page := read(t, name)
		for _, text := range []string{"# " + c.CommandPath() + "\n", c.UseLine(), "\n## Permissions\n\n"} {
			if !strings.Contains(page, text) {
				t.Errorf("%s lacks %q", name, text)
			}
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !strings.Contains(page, "--"+f.Name+" ") {
				t.Errorf("%s lacks --%s", name, f.Name)
			}
		})
	}
	got, err := filepath.Glob(filepath.Join(root, reference.Folder, "cli", "*.md"))
	if slices.Sort(want); err != nil || !slices.Equal(got, want) {
		t.Errorf("there are the pages %q, want %q: %v", got, want, err)
	}
}

// This test finds the names without the generator, which may have forgotten one.
func TestReferenceIsComplete(t *testing.T) {
	for pages, names := range map[string][]string{
		"snapshotschedule.md retention.md":       below("spec.", fieldPaths(reflect.TypeFor[v1alpha1.SnapshotSchedule]())),
		"status.md":                              append(below("status.", fieldPaths(reflect.TypeFor[v1alpha1.SnapshotSchedule]())), columns(t, "snapshotschedule_types.go")...),
		"clustersnapshotschedule.md":             append(fieldPaths(reflect.TypeFor[v1alpha1.ClusterSnapshotSchedule](), reflect.TypeFor[v1alpha1.SnapshotSchedule]()), columns(t, "clustersnapshotschedule_types.go")...),
		"labels.md":                              prefixed(t),
		"conditions.md problems.md":              constants(t, "conditions.go", `(?m)^\s*(?:Condition|Reason)\w+\s*=\s*"(\w+)"`),
		"clustersnapshotschedule.md problems.md": constants(t, "clusterconditions.go", `(?m)^\s*Reason\w+\s*=\s*"(\w+)"`),
	} {
		if len(names) < 5 {
			t.Errorf("found only %q in the code", names)
		}
		text := ""
		for page := range strings.FieldsSeq(pages) {
			text += read(t, filepath.Join(reference.Folder, page))
		}
		for _, name := range names {
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("%s lacks `%s`", pages, name)
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

// fieldPaths returns the paths of all fields of a kind, such as spec.retention.keep.last. Of a type that occurs twice, or in one of the
// other kinds, the fields are described only once.
func fieldPaths(kind reflect.Type, others ...reflect.Type) []string {
	visited := map[reflect.Type]bool{}
	for _, other := range others {
		visitFields("", other, visited)
	}
	return visitFields("", kind, visited)
}

func visitFields(path string, t reflect.Type, visited map[reflect.Type]bool) []string {
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
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if kind.Kind() == reflect.Struct && kind.PkgPath() == reflect.TypeFor[v1alpha1.Duration]().PkgPath() && !visited[kind] {
			visited[kind] = true
			all = append(all, visitFields(inner, kind, visited)...)
		}
	}
	return all
}

// below returns the paths that begin with a prefix.
func below(prefix string, paths []string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return !strings.HasPrefix(path, prefix) })
}

func columns(t *testing.T, file string) []string {
	t.Helper()
	return constants(t, file, `printcolumn:name="([\w ]+)"`)
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
	examples := map[string]string{}
	page := read(t, filepath.Join(reference.Folder, "snapshotschedule.md")) + read(t, filepath.Join(reference.Folder, "retention.md"))
	for _, m := range regexp.MustCompile("(?m)^(?:- |### )`(spec\\.[^`]+)`(?:\\n\\n)?.* Example: `([^`]+)`").FindAllStringSubmatch(page, -1) {
		examples[m[1]] = m[2]
	}
	for _, path := range below("spec.", fieldPaths(reflect.TypeFor[v1alpha1.SnapshotSchedule]())) {
		object := examples[path]
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
