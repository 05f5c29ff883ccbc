// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
)

// LogLine is one line of an operator's log.
type LogLine struct {
	Level, Msg, Error, Name, Addr string
}

// Log is what the operator has logged so far. Lines that are not JSON, such as
// those of a panic, have only a Msg and the level "raw".
func (o *Operator) Log() []LogLine {
	var lines []LogLine
	for text := range strings.Lines(o.text()) {
		var l LogLine
		if json.Unmarshal([]byte(text), &l) != nil {
			l = LogLine{Level: "raw", Msg: text}
		}
		lines = append(lines, l)
	}
	return lines
}

// Errors are the lines of the log at level error, and those that are not JSON.
func (o *Operator) Errors() []LogLine {
	var found []LogLine
	for _, l := range o.Log() {
		if l.Level == "error" || l.Level == "raw" {
			found = append(found, l)
		}
	}
	return found
}

func (o *Operator) healthAddress() string {
	for _, l := range o.Log() {
		if l.Msg == "starting server" && l.Name == "health probe" {
			return l.Addr
		}
	}
	return ""
}

func (o *Operator) text() string {
	text, err := os.ReadFile(o.LogFile)
	must(err, "the operator's log")
	return string(text)
}

// stack is what every error has at its end.
var stack = regexp.MustCompile(`,"stacktrace":".*"`)

func (o *Operator) tail(n int) string {
	lines := strings.SplitAfter(strings.TrimSuffix(o.text(), "\n"), "\n")
	return stack.ReplaceAllString(strings.Join(lines[max(0, len(lines)-n):], ""), "")
}
