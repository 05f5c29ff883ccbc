// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs tests that README.md, the other pages for people and docs agree with the code.
package docs

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/hack/docs/reference"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
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
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, _ fs.DirEntry, err error) error {
		if filepath.Ext(name) == ".md" {
			all[name] = read(t, name)
		}
		return err
	})
	if err != nil || len(all) < 10 {
		t.Fatalf("found %d pages: %v", len(all), err)
	}
	return all
}

// manifests returns the YAML of the pages, of the samples and of the demo, and the patches of SnapshotSchedules, by path.
func manifests(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for name, page := range pages(t) {
		for _, m := range regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$").FindAllStringSubmatch(page, -1) {
			block := strings.ReplaceAll("\n"+m[2], "\n"+m[1], "\n")
			all[name] = append(all[name], strings.Split(block, "\n---\n")...)
		}
		for _, patch := range matches(page, `kubectl patch snapsched \S+ --type=merge -p '([^']*)'`) {
			all[name] = append(all[name], strings.Replace(patch, "{", "{kind: SnapshotSchedule, ", 1))
		}
	}
	for _, pattern := range []string{"config/samples/snapshots_*.yaml", "hack/demo/*.yaml"} {
		files, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("found %d files %s: %v", len(files), pattern, err)
		}
		for _, name := range files {
			all[name] = strings.Split(read(t, name), "\n---\n")
		}
	}
	return all
}

// decode decodes a manifest if it is of a kind. Unknown fields are errors.
func decode(t *testing.T, name, manifest, kind string, into any) bool {
	t.Helper()
	object := &unstructured.Unstructured{}
	err := yaml.UnmarshalStrict([]byte(manifest), &object.Object)
	if err == nil && object.GetKind() == kind {
		err = yaml.UnmarshalStrict([]byte(manifest), into)
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, manifest)
	}
	return object.GetKind() == kind
}

// A SnapshotSchedule on a page, in a patch or among the samples has no unknown field. Those that are complete are valid for the
// operator, too, and do not keep everything for ever. So are the templates of ClusterSnapshotSchedules.
func TestSchedulesAreValid(t *testing.T) {
	patches, schedules := 0, 0
	for name, all := range manifests(t) {
		for _, manifest := range all {
			planned, fleet := &v1alpha1.SnapshotSchedule{}, &v1alpha1.ClusterSnapshotSchedule{}
			if decode(t, name, manifest, "ClusterSnapshotSchedule", fleet) {
				planned.TypeMeta, planned.Spec = fleet.TypeMeta, fleet.Spec.Template.Spec
			} else if !decode(t, name, manifest, "SnapshotSchedule", planned) {
				continue
			}
			if planned.APIVersion == "" {
				patches++ // some pages show an invalid value on purpose
				continue
			}
			schedules++
			if got, want := planned.APIVersion, v1alpha1.GroupVersion.String(); got != want {
				t.Errorf("%s: apiVersion %s, not %s", name, got, want)
			}
			if err := snapshots.Validate(planned); err != nil {
				t.Errorf("%s: %v\n%s", name, err, manifest)
			}
			if r := planned.Spec.Retention; planned.Spec.SnapshotTTL == "" && r.Keep == (v1alpha1.Keep{}) && r.MaxCount == nil {
				t.Errorf("%s: keeps every snapshot for ever\n%s", name, manifest)
			}
		}
	}
	if patches == 0 || schedules < 3 {
		t.Errorf("found %d patches and %d schedules", patches, schedules)
	}
}

// limits are the annotations of VolumeSnapshotClasses on pages, with what parses their values.
var limits = map[string]func(string) error{
	v1alpha1.Prefix + "max-in-flight": positive, v1alpha1.Prefix + "max-pending": positive, v1alpha1.Prefix + "max-per-volume": positive,
	v1alpha1.Prefix + "min-spacing":                   func(value string) error { _, err := schedule.ParseDuration(value); return err },
	"snapshot.storage.kubernetes.io/is-default-class": func(value string) error { _, err := strconv.ParseBool(value); return err },
}

func positive(value string) error {
	if n, err := strconv.Atoi(value); err != nil || n < 1 {
		return fmt.Errorf("%q is not a positive number", value)
	}
	return nil
}

func TestSnapshotClassesAreValid(t *testing.T) {
	classes := 0
	for name, all := range manifests(t) {
		for _, manifest := range all {
			class := &snapshotv1.VolumeSnapshotClass{}
			if !decode(t, name, manifest, "VolumeSnapshotClass", class) {
				continue
			}
			classes++
			for key, value := range class.Annotations {
				if parse := limits[key]; parse == nil {
					t.Errorf("%s: class %s: %s is neither a limit nor the default", name, class.Name, key)
				} else if err := parse(value); err != nil {
					t.Errorf("%s: class %s: %s: %v", name, class.Name, key, err)
				}
			}
		}
	}
	if classes < 3 {
		t.Errorf("found %d classes", classes)
	}
}

// docs/run/limits.md repeats the limits of the classes on other pages, by driver.
func TestLimitsAgreeWithTheClasses(t *testing.T) {
	rows := map[string]map[string]string{}
	row := regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\| ([^|]+) \\|$")
	limit := regexp.MustCompile("`([a-z-]+): ([^`]+)`")
	for _, m := range row.FindAllStringSubmatch(read(t, "docs/run/limits.md"), -1) {
		rows[m[1]] = map[string]string{}
		for _, l := range limit.FindAllStringSubmatch(m[2], -1) {
			rows[m[1]][v1alpha1.Prefix+l[1]] = strings.Trim(l[2], `"`)
		}
	}
	compared := map[string]bool{}
	for name, all := range manifests(t) {
		for _, manifest := range all {
			class := &snapshotv1.VolumeSnapshotClass{}
			if !decode(t, name, manifest, "VolumeSnapshotClass", class) || rows[class.Driver] == nil {
				continue
			}
			maps.DeleteFunc(class.Annotations, func(key, _ string) bool { return !strings.HasPrefix(key, v1alpha1.Prefix) })
			if !maps.Equal(class.Annotations, rows[class.Driver]) {
				t.Errorf("%s: class %s has %v, docs/run/limits.md says %v", name, class.Name, class.Annotations, rows[class.Driver])
			}
			compared[class.Driver] = true
		}
	}
	// A page of storage sets them by a command, on the class that there is.
	for name, page := range pages(t) {
		for _, command := range limitCommands(page) {
			var agree, drivers []string
			for driver, row := range rows {
				if strings.Contains(page, "`"+driver+"`") {
					drivers = append(drivers, driver)
					if maps.Equal(command, row) {
						agree = append(agree, driver)
						compared[driver] = true
					}
				}
			}
			if filepath.Dir(name) == "docs/storage" && len(drivers) > 0 && len(agree) == 0 && len(drivers) < 3 {
				t.Errorf("%s: sets %v, docs/run/limits.md has something else for %q", name, command, drivers)
			}
		}
	}
	if len(rows) < 5 || len(compared) != len(rows) {
		t.Errorf("compared the classes of %d of %d drivers", len(compared), len(rows))
	}
}

// limitCommands returns the annotations that each command of a page sets on a VolumeSnapshotClass.
func limitCommands(page string) (all []map[string]string) {
	for _, arguments := range matches(page, `kubectl annotate volumesnapshotclass \S+((?:\s+\\?\s*[a-z./-]+=[^\s`+"`"+`]+)+)`) {
		command := map[string]string{}
		for argument := range strings.FieldsSeq(arguments) {
			if key, value, set := strings.Cut(argument, "="); set { // otherwise the end of a line
				command[key] = value
			}
		}
		all = append(all, command)
	}
	return all
}

func TestLimitsThatCommandsSetAreValid(t *testing.T) {
	commands := 0
	for name, page := range pages(t) {
		for _, command := range limitCommands(page) {
			commands++
			for key, value := range command {
				if parse := limits[key]; parse == nil {
					t.Errorf("%s: %s is neither a limit nor the default", name, key)
				} else if err := parse(value); err != nil {
					t.Errorf("%s: %s: %v", name, key, err)
				}
			}
		}
	}
	if commands < 10 {
		t.Errorf("found %d commands", commands)
	}
}

// What the plugin knows of a driver is on a page of storage, with the same numbers.
func TestPagesOfStorageSayWhatThePluginKnows(t *testing.T) {
	all := pages(t)
	for _, d := range drivers.All {
		var facts []string
		if d.PerVolume > 0 {
			facts = append(facts, fmt.Sprintf(`\b%d\b`, d.PerVolume))
		}
		for key, value := range d.Annotate {
			facts = append(facts, strings.TrimPrefix(key, v1alpha1.Prefix)+`(?:=|: )"?`+value+`\b`)
		}
		if d.NoSnapshots {
			facts = append(facts, `(?s)## What cannot be snapshotted.*`+regexp.QuoteMeta(d.Name))
		}
		found := false
		for name, page := range all {
			lacks := func(fact string) bool { return !regexp.MustCompile(fact).MatchString(page) }
			if filepath.Dir(name) == "docs/storage" && strings.Contains(page, "`"+d.Name+"`") && !slices.ContainsFunc(facts, lacks) {
				found = true
			}
		}
		if !found {
			t.Errorf("no page of docs/storage has %s with all of %q", d.Name, facts)
		}
	}
}

// Each driver has its page, with who tried it: the overview leads to all of them.
func TestPagesOfStorageSayWhoTriedIt(t *testing.T) {
	overview := read(t, filepath.Join("docs", "storage", "index.md"))
	files, err := fs.Glob(os.DirFS(root), "docs/storage/*.md")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d pages: %v", len(files), err)
	}
	for _, file := range files {
		if name := filepath.Base(file); name == "index.md" {
			continue
		} else if !strings.Contains(overview, "]("+name+") |") {
			t.Errorf("the table of docs/storage/index.md has no %s", name)
		}
		if !strings.Contains(read(t, file), "*Tried:* ") {
			t.Errorf("%s does not say by whom and when it was tried", file)
		}
	}
}

// The names are labels, annotations, fields and make targets.
func TestNamesExistInTheCode(t *testing.T) {
	known := append(slices.Collect(maps.Keys(limits)), append(prefixed(t), v1alpha1.GroupVersion.String(), v1alpha1.Prefix)...)
	var fields []string
	for _, page := range []string{"snapshotschedule.md", "retention.md", "status.md", "clustersnapshotschedule.md"} {
		fields = append(fields, read(t, filepath.Join(reference.Folder, page)))
	}
	targets := matches(read(t, "Makefile"), `(?m)^([a-z0-9-]+):`)
	for name, page := range pages(t) {
		// After a dot it is a resource, as kubectl names one.
		for _, key := range matches(page, `(?:^|[^.])(snapshots(?:\\?)\.mapcontroller(?:\\?)\.dev/[a-z0-9-]*)`) {
			if key = strings.TrimSuffix(strings.ReplaceAll(key, `\`, ""), "-"); !slices.Contains(known, key) {
				t.Errorf("%s: %s is not a label, annotation, finalizer or version of this project", name, key)
			}
		}
		for _, path := range matches(page, "`((?:spec|status)\\.[A-Za-z.\\[\\]]+)`") {
			if !strings.Contains(strings.Join(fields, ""), "`"+path+"`") && !snapshotFields[path] {
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

// A row of the threat model names its tests by file and by the text of the spec, the name of the function or that of the case.
var evidence = regexp.MustCompile("`([^`]+(?:_test\\.go|\\.yaml))` \"([^\"]+)\"")

func TestEveryRowOfTheThreatModelNamesTestsThatExist(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "SECURITY.md"), "\n## Threat model\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| who may") || strings.HasPrefix(line, "| ---") {
			continue
		}
		rows++
		who := strings.TrimSpace(cells[0])
		if len(cells) != 4 {
			t.Errorf("%s: %d cells", who, len(cells))
			continue
		}
		for name := range strings.SplitSeq(cells[3], "; ") {
			m := evidence.FindStringSubmatch(name)
			if m == nil || m[0] != strings.TrimSpace(name) {
				t.Errorf("%s: %q is not of the form `file` \"test\"", who, name)
				continue
			}
			if err := hasTest(m[1], m[2]); err != nil {
				t.Errorf("%s: %v", who, err)
			}
		}
	}
	if rows < 10 {
		t.Errorf("found only %d rows", rows)
	}
}

// hasTest returns an error unless a file has a test function, a text of a spec, table or entry, or a case in YAML.
func hasTest(file, name string) error {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return err
	}
	found := strings.Contains(string(text), fmt.Sprintf("(%q,", name)) || strings.Contains(string(text), fmt.Sprintf("\t%q:", name)) ||
		strings.Contains(string(text), "\nfunc "+name+"(t *testing.T) {") || strings.Contains(string(text), "\n    "+name+":\n")
	if !found {
		return fmt.Errorf("%s has no test %q", file, name)
	}
	return nil
}
