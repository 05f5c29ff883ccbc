// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/rand"
	"io"
	"os"
	"strings"

	"mapcontroller.dev/snapshotschedule/internal/report"
)

// terminal escapes what controls a terminal, in everything that a command prints: tenants
// write what an administrator reads. Only the styles of this process pass. A style begins
// with a mark that nobody can know who writes an object.
type terminal struct{ io.Writer }

var styleMark = "\x1b" + rand.Text()

func (t terminal) Write(text []byte) (int, error) {
	escaped := betweenStyles(string(text), report.Escape)
	if _, err := io.WriteString(t.Writer, strings.ReplaceAll(escaped, styleMark, "\x1b")); err != nil {
		return 0, err
	}
	return len(text), nil
}

// betweenStyles changes a text without its styles.
func betweenStyles(text string, change func(string) string) string {
	plain, styled, found := strings.Cut(text, styleMark)
	var b strings.Builder
	b.WriteString(change(plain))
	for found {
		plain, styled, found = strings.Cut(styled, styleMark)
		end := strings.IndexByte(plain, 'm') + 1 // "[31m"
		b.WriteString(styleMark + plain[:end] + change(plain[end:]))
	}
	return b.String()
}

// fileOf returns the file behind a writer; nil if there is none.
func fileOf(w io.Writer) *os.File {
	if t, ok := w.(terminal); ok {
		w = t.Writer
	}
	file, _ := w.(*os.File)
	return file
}
