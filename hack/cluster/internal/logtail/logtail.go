// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logtail reads the last lines of a log file.
package logtail

import (
	"fmt"
	"os"
	"strings"
)

// window is how much of the file's end is read, because logs can be large.
const window = 64 << 10

// Lines returns the last n lines of a file, or none if it cannot be read.
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
	from := max(0, info.Size()-window)
	b := make([]byte, info.Size()-from)
	read, _ := f.ReadAt(b, from)
	text := strings.TrimRight(string(b[:read]), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):]
}

// Quote returns the last n lines of a file, formatted as the end of an error
// message.
func Quote(path string, n int) string {
	lines := Lines(path, n)
	if len(lines) == 0 {
		lines = []string{"(empty)"}
	}
	return fmt.Sprintf("\n  last lines of %s:\n    %s", path, strings.Join(lines, "\n    "))
}
