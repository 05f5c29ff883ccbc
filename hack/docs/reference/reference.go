// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reference generates the parts of docs/reference that repeat what the code says.
//
// A generated part stands between two markers. The rest of a page is written by hand.
//
//	<!-- generated: NAME -->
//	<!-- end of NAME -->
//
// Files:
//
//	reference.go   the list of parts, markers, metrics, Markdown
//	fields.go      fields and printer columns, from the CRD and the API types
//	constants.go   labels, annotations, conditions and reasons, from Go constants
//	commands.go    the pages of the plugin's commands, from their help
package reference

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/clusterschedules"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// Folder is the path of the pages in the repository.
const Folder = "docs/reference"

// part is a generated part of a page.
type part struct{ page, name, text string }

// Generate returns the pages that have generated parts, updated, by their paths in Folder. Root is the path of the repository.
func Generate(root string) (map[string]string, error) {
	parts, err := generated(root)
	if err != nil {
		return nil, err
	}
	pages := map[string]string{}
	for _, p := range parts {
		if pages[p.page] == "" {
			text, err := os.ReadFile(filepath.Join(root, Folder, p.page))
			pages[p.page] = string(text)
			if errors.Is(err, fs.ErrNotExist) {
				pages[p.page], err = marker(p.name)+endMarker(p.name)+"\n", nil
			}
			if err != nil {
				return nil, err
			}
		}
		before, rest, begins := strings.Cut(pages[p.page], marker(p.name))
		_, after, ends := strings.Cut(rest, endMarker(p.name))
		if !begins || !ends {
			return nil, fmt.Errorf("%s has no part %q", p.page, p.name)
		}
		pages[p.page] = before + marker(p.name) + "\n" + strings.TrimSpace(p.text) + "\n\n" + endMarker(p.name) + after
	}
	return pages, nil
}

func marker(name string) string    { return "<!-- generated: " + name + " -->\n" }
func endMarker(name string) string { return "<!-- end of " + name + " -->" }

func generated(root string) ([]part, error) {
	schedule, err := readCRD(root, reflect.TypeFor[v1alpha1.SnapshotSchedule]())
	if err != nil {
		return nil, err
	}
	cluster, err := readCRD(root, reflect.TypeFor[v1alpha1.ClusterSnapshotSchedule]())
	if err != nil {
		return nil, err
	}
	names, err := readConstants(filepath.Join(root, "api", "v1alpha1"))
	if err != nil {
		return nil, err
	}
	verdicts, err := verdictList(root)
	if err != nil {
		return nil, err
	}
	const spec, retention, status, both = "snapshotschedule.md", "retention.md", "status.md", "clustersnapshotschedule.md"
	const conditions, labels = "conditions.md", "labels.md"
	overview, reasons := names.conditions()
	known := links{}
	ofRetention := func(field string) bool { return field == "retention" }
	parts := []part{
		{spec, "spec", known.spec(schedule, spec, func(field string) bool { return !ofRetention(field) })},
		{retention, "fields", known.spec(schedule, retention, ofRetention)},
		{retention, "verdicts", verdicts},
		{status, "status", known.status(schedule, status)},
		{status, "columns", schedule.columnTable()},
		{both, "spec", known.spec(cluster, both, func(string) bool { return true })},
		{both, "status", known.status(cluster, both)},
		{both, "columns", cluster.columnTable()},
		{conditions, "conditions", overview},
		{conditions, "reasons", reasons},
		{labels, "labels", names.list("Label")},
		{labels, "annotations", names.list("Annotation")},
		{labels, "finalizers", names.list("Finalizer")},
		{"metrics.md", "metrics", metricList()},
	}
	return append(parts, commandParts()...), nil
}

// metricList returns the list of the operator's metrics.
func metricList() string {
	var list strings.Builder
	all := append(metrics.New().Described(), clusterschedules.NewMetrics().Described()...)
	slices.SortFunc(all, func(a, b report.Metric) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range all {
		kind := m.Type
		if len(m.Labels) > 0 {
			kind += " by " + codes(m.Labels)
		}
		list.WriteString(item(m.Name, kind, m.Help))
	}
	return list.String()
}

// item returns an item of a list: a name and, in parentheses, what kind of thing it is, and its meaning.
func item(name, kind, meaning string) string {
	if kind != "" {
		kind = " (" + kind + ")"
	}
	return "- " + code(name) + kind + ": " + sentence(meaning) + "\n"
}

// markdownTable returns a Markdown table.
func markdownTable(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(header)
	b.WriteString("|" + strings.Repeat(" --- |", len(header)) + "\n")
	for _, row := range rows {
		for i, cell := range row {
			row[i] = strings.ReplaceAll(strings.Join(strings.Fields(cell), " "), "|", `\|`)
		}
		line(row)
	}
	return b.String()
}

// code formats text as code. Empty text stays empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// codes formats several texts as code.
func codes(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return "`" + strings.Join(all, "`, `") + "`"
}

var plainWord = regexp.MustCompile(`^[a-z]+[ ,:]`)

// sentence ends text with a full stop, and capitalizes its first word unless that word
// is a name.
func sentence(text string) string {
	text = strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
	if text == "" {
		return ""
	}
	if plainWord.MatchString(text) {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text + "."
}
