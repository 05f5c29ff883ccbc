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
//	reference.go   the list of parts, markers, Markdown
//	fields.go      fields and printer columns, from the CRD and the API types
//	examples.go    an example value for every field of the spec
//	constants.go   labels, annotations and reasons to delete, from Go constants
//	conditions.go  condition types and reasons, from the API package
//	metrics.go     metrics, from their descriptions
//	flags.go       flags, from the manager's help
package reference

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
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
	spec, err := schema.fieldTable("spec", "default", "example")
	if err != nil {
		return nil, err
	}
	status, err := schema.fieldTable("status")
	if err != nil {
		return nil, err
	}
	fleetSpec, err := fleet.fieldTable("spec")
	if err != nil {
		return nil, err
	}
	fleetStatus, err := fleet.fieldTable("status")
	if err != nil {
		return nil, err
	}
	names, err := readAPIConstants(root)
	if err != nil {
		return nil, err
	}
	flags, err := flagTable(root)
	if err != nil {
		return nil, err
	}
	verdicts, err := verdictTable(root)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct{ name, text string }{
		{"spec", spec},
		{"status", status},
		{"durations", schema.ruleList("spec", "snapshotInterval")},
		{"cron expressions", schema.ruleList("spec", "schedule")},
		{"columns", schema.columnTable()},
		{"cluster spec", fleetSpec},
		{"cluster status", fleetStatus},
		{"cluster columns", fleet.columnTable()},
		{"labels", names.table("Label")},
		{"annotations", names.table("Annotation")},
		{"finalizers", names.table("Finalizer")},
		{"conditions", names.conditionTable()},
		{"reasons", names.reasonTables()},
		{"verdicts", verdicts},
		{"metrics", metricTable()},
		{"flags", flags},
	} {
		if page, err = ReplacePart(File, page, part.name, part.text); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// ReplacePart replaces the text between the markers of a part of a file.
func ReplacePart(file string, page []byte, name, text string) ([]byte, error) {
	begin, end := "<!-- generated: "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := bytes.Cut(page, []byte(begin))
	if !ok {
		return nil, fmt.Errorf("%s has no line %q", file, strings.TrimSpace(begin))
	}
	_, after, ok := bytes.Cut(rest, []byte(end))
	if !ok {
		return nil, fmt.Errorf("%s has no line %q after %q", file, end, strings.TrimSpace(begin))
	}
	return bytes.Join([][]byte{before, []byte(begin), []byte("\n" + text + "\n"), []byte(end), after}, nil), nil
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
