// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"mapcontroller.dev/snapshotschedule/internal/report"
)

// say prints a line, whatever its parts contain. A terminal gets it in lines of its width,
// those that continue it indented.
func say(w io.Writer, line string) {
	fmt.Fprintln(w, fitLine(betweenStyles(line, report.Line), terminalWidth(w)))
}

// fitLine breaks a line that does not fit a width. Without a width, every line fits.
func fitLine(line string, width int) string {
	if width == 0 || printed(line) <= width {
		return line
	}
	begin := strings.Repeat(" ", len(line)-len(strings.TrimLeft(line, " ")))
	return strings.Join(wrap(line, begin, begin+"  ", width), "\n")
}

// narrowest is the width from which on a column is wrapped: narrower ones are hard to
// read.
const narrowest = 24

// fitTable moves what does not fit the width out of the last column: into lines that
// begin there, or below the row if the column is too narrow for that.
func fitTable(table string, last string, width int) string {
	if table == "" {
		return "" // without rows, there is no header either
	}
	header, _, _ := strings.Cut(table, "\n")
	column := utf8.RuneCountInString(header[:strings.LastIndex(header, last)])
	var lines []string
	for line := range strings.Lines(table) {
		runes := []rune(strings.TrimRight(line, " \n"))
		if len(runes) <= width || len(runes) <= column {
			lines = append(lines, string(runes))
			continue
		}
		row, rest := string(runes[:column]), string(runes[column:])
		inColumn := wrap(rest, row, strings.Repeat(" ", column), width)
		tooLong := func(line string) bool { return printed(line) > width }
		if width-column >= narrowest && !slices.ContainsFunc(inColumn, tooLong) {
			lines = append(lines, inColumn...)
			continue
		}
		lines = append(lines, strings.TrimRight(row, " "))
		if rest != none {
			lines = append(lines, wrap(rest, "    ", "    ", width)...)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// wrap returns a text in lines of a width, between words. The first line begins in one
// way, the others in another.
func wrap(text, begin, next string, width int) []string {
	var lines []string
	line, empty := begin, true
	for word := range strings.FieldsSeq(text) {
		if !empty && printed(line)+1+printed(word) > width {
			lines, line, empty = append(lines, line), next, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return append(lines, line)
}

var colors = regexp.MustCompile(styleMark + "\\[[0-9;]*m")

// printed returns how many columns of a terminal a text takes.
func printed(text string) int { return utf8.RuneCountInString(colors.ReplaceAllString(text, "")) }
