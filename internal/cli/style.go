// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/printers"
)

// Style colors text, or leaves it as it is.
type Style struct{ color bool }

// StyleOf returns the style for a writer: colored on a terminal, unless NO_COLOR is set.
func StyleOf(w io.Writer) Style {
	file := fileOf(w)
	return Style{color: file != nil && printers.AllowsColorOutput(file)}
}

func (s Style) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return styleMark + "[" + code + "m" + text + styleMark + "[0m"
}

// Good is for what is as it should be.
func (s Style) Good(text string) string { return s.paint("32", text) }

// Bad is for failures.
func (s Style) Bad(text string) string { return s.paint("31", text) }

// Warn is for what deserves attention.
func (s Style) Warn(text string) string { return s.paint("33", text) }

// Dim is for what is less important.
func (s Style) Dim(text string) string { return s.paint("2", text) }

func (s Style) cyan(text string) string    { return s.paint("36", text) }
func (s Style) blue(text string) string    { return s.paint("34", text) }
func (s Style) magenta(text string) string { return s.paint("35", text) }

// Bold is for what stands out.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// pipeWidth is the width of drawings that go to no terminal.
const pipeWidth = 100

// WidthOf returns the width of a drawing on a writer. COLUMNS overrides that of the
// terminal.
func WidthOf(w io.Writer) int {
	return cmp.Or(columns(), terminalWidth(w), pipeWidth)
}

// terminalWidth returns the width of the terminal behind a writer; zero if there is
// none.
func terminalWidth(w io.Writer) int {
	file := fileOf(w)
	if file == nil {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return cmp.Or(columns(), width)
}

// columns returns the value of COLUMNS; zero if there is none.
func columns() int {
	n, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	return max(n, 0)
}
