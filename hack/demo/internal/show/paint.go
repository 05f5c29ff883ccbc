// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package show is what the demo looks like.
package show

// Paint colours text, on a terminal that shows colours.
type Paint bool

func (p Paint) in(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold is for headings.
func (p Paint) Bold(text string) string { return p.in("1", text) }

// Faint is for what may be skipped.
func (p Paint) Faint(text string) string { return p.in("2", text) }

// Green is for what is well.
func (p Paint) Green(text string) string { return p.in("32", text) }

// Yellow is for what is on its way.
func (p Paint) Yellow(text string) string { return p.in("33", text) }

// Red is for what is wrong, and for what is going.
func (p Paint) Red(text string) string { return p.in("31", text) }
