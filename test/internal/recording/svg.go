// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// Columns is how many characters a line of the terminal has. Longer ones go on in the next line.
	Columns               = 104
	lineHeight, charWidth = 18, 7.8
	width                 = Columns*charWidth + 40
)

// Still draws a terminal with a command, and what it printed there: with the colors of the escape sequences in it. Every text has the width that its
// characters have in the terminal, whatever the reader's fonts.
func Still(label, command, output string) string {
	var b strings.Builder
	row, column := 0, 0
	write := func(class, text string) {
		for text != "" {
			n := min(Columns-column, utf8.RuneCountInString(text))
			part := string([]rune(text)[:n])
			if strings.TrimSpace(part) != "" {
				fmt.Fprintf(&b, "<text class=%q xml:space=\"preserve\" x=\"%.1f\" y=\"%d\" textLength=\"%.1f\">%s</text>\n",
					class, 20+float64(column)*charWidth, 50+row*lineHeight, float64(n)*charWidth, html.EscapeString(part))
			}
			text, column = text[len(part):], column+n
			if text != "" {
				row, column = row+1, 0
			}
		}
	}
	write("command", "$ "+command)
	class := "c0"
	for line := range strings.SplitSeq(strings.TrimRight(strings.ReplaceAll(output, "\r", ""), "\n"), "\n") {
		row, column = row+1, 0
		rest := strings.TrimRight(line, " ")
		for at := style.FindStringSubmatchIndex(rest); at != nil; at = style.FindStringSubmatchIndex(rest) {
			write(class, rest[:at[0]])
			class, rest = "c"+rest[at[2]:at[3]], rest[at[1]:]
		}
		write(class, rest)
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" role="img" aria-label="%s">
<style>
rect { fill: #0d1117 } circle { fill: #30363d } .command { fill: #7ee787 }
text { fill: #e6edf3; font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
.c1 { font-weight: 700 } .c2 { fill: #8b949e } .c31 { fill: #ff7b72 } .c32 { fill: #56d364 } .c33 { fill: #e3b341 } .c34 { fill: #79c0ff } .c35 { fill: #d2a8ff } .c36 { fill: #56d4dd }
</style>
<rect width="100%%" height="100%%" rx="8"/><circle cx="20" cy="18" r="5"/><circle cx="38" cy="18" r="5"/><circle cx="56" cy="18" r="5"/>
%s</svg>
`, width, row*lineHeight+72, html.EscapeString(label), b.String())
}

// style is an escape sequence that changes how text is shown.
var style = regexp.MustCompile("\x1b\\[([0-9]*)m")
