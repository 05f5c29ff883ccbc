// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reference generates the parts of docs/reference.md that code already says.
//
// The page is written by hand, but for what stands between a pair of marks:
//
//	<!-- generated: NAME -->
//	<!-- end of NAME -->
//
// Where to read on:
//
//	fields.go     fields and printer columns, from the CRD and the API's types
//	examples.go   an example for every field of the spec
//	names.go      labels, annotations, conditions and reasons, from constants
//	metrics.go    metrics, from their descriptions
//	flags.go      the manager's flags, from its help
package reference

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// File is the page, seen from the root of the repository.
const File = "docs/reference.md"

// Generate returns the page with its generated parts made anew. Root is the root
// of the repository.
func Generate(root string, page []byte) ([]byte, error) {
	schema, err := readCRD(root)
	if err != nil {
		return nil, err
	}
	names, err := readNames(root)
	if err != nil {
		return nil, err
	}
	flags, err := readFlags(root)
	if err != nil {
		return nil, err
	}
	verdicts, err := readVerdicts(root)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct{ name, text string }{
		{"spec", schema.fields("spec")},
		{"status", schema.fields("status")},
		{"durations", schema.rulesOf("spec", "snapshotInterval")},
		{"cron lines", schema.rulesOf("spec", "schedule")},
		{"columns", schema.columns()},
		{"labels", names.table("Label")},
		{"annotations", names.table("Annotation")},
		{"finalizers", names.table("Finalizer")},
		{"conditions", names.conditions()},
		{"reasons", names.reasons()},
		{"verdicts", verdicts},
		{"metrics", metrics()},
		{"flags", flags},
	} {
		if page, err = splice(page, part.name, part.text); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// splice puts text between the marks of a part.
func splice(page []byte, name, text string) ([]byte, error) {
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

// table is a Markdown table.
func table(header []string, rows [][]string) string {
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

// code marks text as code, if there is any.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

var plainWord = regexp.MustCompile(`^[a-z]+[ ,:]`)

// sentence begins with a capital letter, unless a name comes first, and ends with a
// full stop.
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
