/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
