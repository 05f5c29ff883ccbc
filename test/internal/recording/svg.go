// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// Scene is a command and what it printed.
type Scene struct{ Command, Output string }

const (
	// Columns is how many characters a line of the terminal has. Longer ones go on in the next line.
	Columns               = 104
	lineHeight, charWidth = 18, 7.8
	width                 = Columns*charWidth + 40
	// typing and reading are how many seconds a command is typed, and its output stands.
	typing, reading = 2, 9
)

// SVG draws a terminal in which one scene follows another, for ever. Where a reader wants less motion, only the first is shown. Every text has the
// width that its characters have in the terminal, whatever the reader's fonts.
func SVG(label string, scenes []Scene) string {
	rows := 0
	for _, s := range scenes {
		rows = max(rows, 1+len(wrapped(s.Output)))
	}
	height := rows*lineHeight + 64
	total := len(scenes) * (typing + reading)
	part := func(seconds float64) string { return fmt.Sprintf("%.2f%%", 100*seconds/float64(total)) }

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" role="img" aria-label="%s">
<style>
rect { fill: #0d1117 } circle { fill: #30363d } .cover { fill: #0d1117 }
text { fill: #e6edf3; font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre } .command { fill: #7ee787 }
.scene { visibility: hidden; animation: scene %ds step-end infinite } .output { animation: output %ds step-end infinite } .cover { animation: type %ds steps(40) infinite }
@keyframes scene { 0%% { visibility: visible } %s { visibility: hidden } }
@keyframes output { 0%% { opacity: 0 } %s { opacity: 1 } }
@keyframes type { 0%% { transform: none } %s, 100%% { transform: translateX(%.0fpx) } }
@media (prefers-reduced-motion: reduce) { .scene, .output, .cover { animation: none } .cover { display: none } .scene:first-of-type { visibility: visible } }
</style>
<rect width="100%%" height="100%%" rx="8"/><circle cx="20" cy="18" r="5"/><circle cx="38" cy="18" r="5"/><circle cx="56" cy="18" r="5"/>
`, width, height, html.EscapeString(label), total, total, total, part(typing+reading), part(typing*1.2), part(typing), width)
	for i, s := range scenes {
		delay := fmt.Sprintf(`style="animation-delay:%ds"`, i*(typing+reading))
		fmt.Fprintf(&b, "<g class=\"scene\" %s>\n", delay)
		line(&b, "command", "$ "+s.Command, 0)
		fmt.Fprintf(&b, "<rect class=\"cover\" %s x=\"34\" y=\"36\" width=\"100%%\" height=\"%d\"/>\n<g class=\"output\" %s>\n", delay, lineHeight, delay)
		for n, text := range wrapped(s.Output) {
			line(&b, "", text, n+1)
		}
		b.WriteString("</g></g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// wrapped returns the lines of the terminal.
func wrapped(output string) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(output, "\n"), "\n") {
		runes := []rune(line)
		for ; len(runes) > Columns; runes = runes[Columns:] {
			lines = append(lines, string(runes[:Columns]))
		}
		lines = append(lines, string(runes))
	}
	return lines
}

func line(b *strings.Builder, class, text string, row int) {
	text = strings.TrimRight(text, " ")
	if text == "" {
		return
	}
	if class != "" {
		class = fmt.Sprintf(" class=%q", class)
	}
	fmt.Fprintf(b, "<text%s xml:space=\"preserve\" x=\"20\" y=\"%d\" textLength=\"%.1f\">%s</text>\n",
		class, 50+row*lineHeight, float64(utf8.RuneCountInString(text))*charWidth, html.EscapeString(text))
}
