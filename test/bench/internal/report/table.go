// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is text in columns.
type Table struct {
	Title  string     `json:"title"`
	Header []string   `json:"header"`
	Rows   [][]string `json:"rows"`
}

// Write aligns the columns for a terminal.
func (t Table) Write(w io.Writer) error {
	widths := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n", t.Title)
	rules := make([]string, len(widths))
	for i, width := range widths {
		rules[i] = strings.Repeat("─", width)
	}
	for _, row := range append([][]string{t.Header, rules}, t.Rows...) {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// Markdown writes the table, without its title, as GitHub reads it.
func (t Table) Markdown() string {
	var text strings.Builder
	line := func(cells []string) {
		escaped := make([]string, len(cells))
		for i, cell := range cells {
			escaped[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		text.WriteString("| " + strings.Join(escaped, " | ") + " |\n")
	}
	line(t.Header)
	text.WriteString("|" + strings.Repeat(" --- |", len(t.Header)) + "\n")
	for _, row := range t.Rows {
		line(row)
	}
	return text.String()
}
