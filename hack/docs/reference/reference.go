// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reference generates the parts of docs/reference.md that repeat what the code
// says.
//
// A generated part stands between two markers. The rest of the page is written by hand.
//
//	<!-- generated: NAME -->
//	<!-- end of NAME -->
//
// Files:
//
//	reference.go   the list of parts, markers, metrics, Markdown
//	fields.go      fields and printer columns, from the CRD and the API types
//	constants.go   labels, annotations, conditions and reasons, from Go constants
package reference

import (
	"bytes"
	"fmt"
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

// File is the path of the page in the repository.
const File = "docs/reference.md"

// Generate returns the page with its generated parts updated. Root is the path of the
// repository.
func Generate(root string, page []byte) ([]byte, error) {
	schema, err := readCRD(root, reflect.TypeFor[v1alpha1.SnapshotSchedule]())
	if err != nil {
		return nil, err
	}
	fleet, err := readCRD(root, reflect.TypeFor[v1alpha1.ClusterSnapshotSchedule]())
	if err != nil {
		return nil, err
	}
	names, err := readConstants(filepath.Join(root, "api", "v1alpha1"))
	if err != nil {
		return nil, err
	}
	conditions, reasons := names.conditionTable()
	verdicts, err := verdictTable(root)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct{ name, text string }{
		{"spec", schema.fieldTable("spec", true)},
		{"status", schema.fieldTable("status", false)},
		{"durations", schema.ruleList("spec", "snapshotInterval")},
		{"cron expressions", schema.ruleList("spec", "schedule")},
		{"columns", schema.columnTable()},
		{"cluster spec", fleet.fieldTable("spec", false)},
		{"cluster status", fleet.fieldTable("status", false)},
		{"cluster columns", fleet.columnTable()},
		{"labels", names.table("Label")},
		{"annotations", names.table("Annotation")},
		{"finalizers", names.table("Finalizer")},
		{"conditions", conditions},
		{"reasons", names.reasonTables(reasons)},
		{"verdicts", verdicts},
		{"metrics", metricTable()},
	} {
		if page, err = replacePart(page, part.name, part.text); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// replacePart replaces the text between the markers of a part of the page.
func replacePart(page []byte, name, text string) ([]byte, error) {
	begin, end := "<!-- generated: "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := bytes.Cut(page, []byte(begin))
	if !ok {
		return nil, fmt.Errorf("%s has no line %q", File, strings.TrimSpace(begin))
	}
	_, after, ok := bytes.Cut(rest, []byte(end))
	if !ok {
		return nil, fmt.Errorf("%s has no line %q after %q", File, end, strings.TrimSpace(begin))
	}
	return bytes.Join([][]byte{before, []byte(begin), []byte("\n" + text + "\n"), []byte(end), after}, nil), nil
}

// metricTable returns the table of the operator's metrics.
func metricTable() string {
	var rows [][]string
	all := append(metrics.New().Described(), clusterschedules.NewMetrics().Described()...)
	slices.SortFunc(all, func(a, b report.Metric) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range all {
		var labels []string
		for _, l := range m.Labels {
			labels = append(labels, code(l))
		}
		rows = append(rows, []string{code(m.Name), m.Type, strings.Join(labels, ", "), sentence(m.Help)})
	}
	return markdownTable([]string{"metric", "type", "labels", "meaning"}, rows)
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
