// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs tests that README.md, the other pages for people and docs agree with the code.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// root is the repository's root.
const root = "../.."

// pages returns the text of every page by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{"README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"} {
		all[name] = read(t, name)
	}
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(found) == 0 {
		t.Fatalf("found %d pages in docs: %v", len(found), err)
	}
	for _, path := range found {
		name := filepath.Join("docs", filepath.Base(path))
		all[name] = read(t, name)
	}
	return all
}

// A SnapshotSchedule on a page, in a patch or among the samples has no unknown field. Those that are complete are valid for the
// operator, too.
func TestSchedulesAreValid(t *testing.T) {
	documents := map[string][]string{}
	for name, page := range pages(t) {
		for _, block := range matches(page, "(?ms)^```yaml\n(.*?)^```$") {
			documents[name] = append(documents[name], strings.Split(block, "\n---\n")...)
		}
		for _, patch := range matches(page, `kubectl patch snapsched \S+ --type=merge -p '([^']*)'`) {
			documents[name] = append(documents[name], strings.Replace(patch, "{", "{kind: SnapshotSchedule, ", 1))
		}
	}
	for _, name := range []string{"", "_gfs"} {
		name = "config/samples/snapshots_v1alpha1_snapshotschedule" + name + ".yaml"
		documents[name] = []string{read(t, name)}
	}
	patches, schedules := 0, 0
	for name, all := range documents {
		for _, document := range all {
			object, schedule := &unstructured.Unstructured{}, &v1alpha1.SnapshotSchedule{}
			if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
				t.Errorf("%s: %v\n%s", name, err, document)
			}
			if object.GetKind() != "SnapshotSchedule" {
				continue
			}
			if err := yaml.UnmarshalStrict([]byte(document), schedule); err != nil {
				t.Errorf("%s: %v\n%s", name, err, document)
			}
			if schedule.APIVersion == "" {
				patches++ // some pages show an invalid value on purpose
				continue
			}
			schedules++
			if got, want := schedule.APIVersion, v1alpha1.GroupVersion.String(); got != want {
				t.Errorf("%s: apiVersion %s, not %s", name, got, want)
			}
			if err := snapshots.Validate(schedule); err != nil {
				t.Errorf("%s: %v\n%s", name, err, document)
			}
		}
	}
	if patches == 0 || schedules < 3 {
		t.Errorf("found %d patches and %d schedules", patches, schedules)
	}
}

// The names are labels, annotations, fields and make targets.
func TestNamesExistInTheCode(t *testing.T) {
	known := append(prefixed(t), v1alpha1.GroupVersion.String(), v1alpha1.Prefix)
	fields := read(t, filepath.Join("docs", "reference.md"))
	targets := matches(read(t, "Makefile"), `(?m)^([a-z0-9-]+):`)
	for name, page := range pages(t) {
		for _, key := range matches(page, `(snapshots(?:\\?)\.mapcontroller(?:\\?)\.dev/[a-z0-9-]*)`) {
			if key = strings.TrimSuffix(strings.ReplaceAll(key, `\`, ""), "-"); !slices.Contains(known, key) {
				t.Errorf("%s: %s is not a label, annotation, finalizer or version of this project", name, key)
			}
		}
		for _, path := range matches(page, "`((?:spec|status)\\.[A-Za-z.\\[\\]]+)`") {
			if !strings.Contains(fields, "`"+path+"`") && !snapshotFields[path] {
				t.Errorf("%s: %s is not a field", name, path)
			}
		}
		for _, line := range matches(page, "(?m)(?:^|`)make ([a-z][a-z0-9 -]*)") {
			for target := range strings.FieldsSeq(line) {
				if !slices.Contains(targets, target) {
					t.Errorf("%s: make %s: the Makefile has no such target", name, target)
				}
			}
		}
	}
}

// snapshotFields are fields of VolumeSnapshot that pages mention.
var snapshotFields = map[string]bool{"status.creationTime": true, "status.readyToUse": true, "status.error": true}

func TestLinksWithinTheRepositoryAreValid(t *testing.T) {
	all := pages(t)
	for name, page := range all {
		for _, target := range matches(page, `\]\(([^)]+)\)`) {
			if strings.Contains(target, "://") {
				continue
			}
			path, anchor, _ := strings.Cut(target, "#")
			file := name
			if path != "" {
				file = filepath.Join(filepath.Dir(name), path)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s: %s: %v", name, target, err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(all[file]), anchor) {
				t.Errorf("%s: %s: no such heading", name, target)
			}
		}
	}
}

var notInAnchor = regexp.MustCompile("[^a-z0-9 _-]")

// anchors returns the anchors of a page's headings, as GitHub generates them.
func anchors(page string) []string {
	var all []string
	for _, heading := range matches(page, `(?m)^#+ (.*)$`) {
		heading = notInAnchor.ReplaceAllString(strings.ToLower(heading), "")
		all = append(all, strings.ReplaceAll(heading, " ", "-"))
	}
	return all
}

func TestPagesSayNothingThatIsSoonWrong(t *testing.T) {
	for what, pattern := range map[string]string{
		"a number of plans, faults or mutants": `(?i)\b\d[\d,]*\s+(?:\w+\s+)?(?:crashes|faults|plans|mutants|workloads)\b`,
		"a path of one machine":                `(?i)/(?:tmp|root|home|work)/\S*|\bgoproxy\b\S*`,
	} {
		for name, page := range pages(t) {
			for _, found := range regexp.MustCompile(pattern).FindAllString(page, -1) {
				t.Errorf("%s has %s: %q", name, what, found)
			}
		}
	}
}
