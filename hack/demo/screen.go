// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
)

const bold, dim, red, green, cyan, width = "1", "2", "31", "32", "36", 78

// screen prints the demo. If it is live, it has colors, and a last line that changes while a step waits.
type screen struct {
	out  io.Writer
	live bool
}

// newScreen returns a live screen if the file is a terminal, unless NO_COLOR is set.
func newScreen(f *os.File) *screen {
	info, err := f.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	return &screen{f, terminal && os.Getenv("NO_COLOR") == ""}
}

func (s *screen) paint(code, text string) string {
	if !s.live {
		return text
	}
	return "\033[" + code + "m" + text + "\033[0m"
}

func (s *screen) print(format string, args ...any) {
	s.progress("")
	_, _ = fmt.Fprintf(s.out, format+"\n", args...)
}

// progress replaces the line that changes.
func (s *screen) progress(text string) {
	if runes := []rune(text); s.live {
		_, _ = fmt.Fprint(s.out, "\r\033[K"+s.paint(dim, string(runes[:min(width, len(runes))])))
	}
}
