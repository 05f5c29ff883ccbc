// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tail shows the end of a log.
package tail

import (
	"os"
	"strings"
)

// reach is how much of a file's end is looked at: logs can be large, and the
// last few lines never need more.
const reach = 64 << 10

// Lines gives the last n lines of a file, or none if it can't be read.
func Lines(path string, n int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(0, info.Size()-reach)
	b := make([]byte, info.Size()-from)
	read, _ := f.ReadAt(b, from)
	text := strings.TrimRight(string(b[:read]), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):]
}

// Indented joins the last n lines, set off from the message they belong to.
func Indented(path string, n int) string {
	lines := Lines(path, n)
	if len(lines) == 0 {
		return "    (nothing)"
	}
	return "    " + strings.Join(lines, "\n    ")
}
