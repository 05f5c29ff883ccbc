// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report makes text safe to show. Names, annotations, drivers, webhooks and
// errors contain what their authors write, of any length and with any bytes: whatever of
// it enters a status, an event, a metric label or a terminal passes through here first.
package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// The bounds of texts, in bytes.
const (
	// MaxMessage bounds every message. The API server refuses a longer note of an event,
	// and the CRDs refuse a longer message of a problem.
	MaxMessage = 1024
	// MaxName bounds a name. Those that the API server validates are not longer.
	MaxName = 253
)

// Text returns a text as one line of at most limit bytes that cannot control what shows
// it. It is the same for the same text, and leaves what it returns as it is.
func Text(text string, limit int) string {
	// What is not printed is at least as long when it is escaped.
	return cut(Line(cut(text, 2*limit)), limit)
}

// cut shortens a text to a number of bytes, between two characters.
func cut(text string, limit int) string {
	const more = "…"
	if len(text) <= limit {
		return text
	}
	end := max(limit-len(more), 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// Line returns a text as one line that cannot control what shows it: white space is one
// blank, and what cannot be seen is escaped.
func Line(text string) string {
	return Escape(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, invalid)))
}

// invalid stands for bytes that are not UTF-8.
const invalid = string(utf8.RuneError)

// Escape escapes what cannot be seen, as JSON does: control characters, those that change
// the direction of text, and those of no width. Line breaks and tabs are kept. In JSON
// the result has the same meaning.
func Escape(text string) string {
	text = strings.ToValidUTF8(text, invalid)
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	return r != '\n' && r != '\t' &&
		(!unicode.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}

// Example joins a number of things to one of them.
func Example(n int) string {
	if n == 1 {
		return ": "
	}
	return ", for example "
}

// List joins names to a text of at most limit bytes, and counts those that do not fit.
func List(names []string, limit int) string {
	const more = " and %d more"
	var list string
	for i, name := range names {
		name = Text(name, max(limit-len(more)-len("1000000"), 0))
		longer := name
		if i > 0 {
			longer = list + ", " + name
		}
		if left := len(names) - i; i > 0 && len(longer)+len(fmt.Sprintf(more, left)) > limit {
			return list + fmt.Sprintf(more, left)
		}
		list = longer
	}
	return list
}
