// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// reportInterval is the time between progress lines without a terminal.
const reportInterval = 30 * time.Second

// progress prints text and the state of the campaign: a bar on a terminal, a line
// from time to time elsewhere.
type progress struct {
	out      *os.File
	terminal bool
	// phase is what runs since began.
	phase     string
	began     time.Time
	last      time.Time
	barActive bool
}

func newProgress(out *os.File) *progress {
	info, err := out.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	return &progress{out: out, terminal: terminal, last: time.Now()}
}

func (p *progress) print(text string) {
	p.clear()
	_, _ = fmt.Fprintln(p.out, text)
}

func (p *progress) update(phase string, done, total, failed int) {
	now := time.Now()
	if p.phase != phase {
		p.phase, p.began = phase, now // after the first is done, so that it does not count
	}
	text := fmt.Sprintf("%d/%d %s, %d failed", done, total, phase, failed)
	if done > 1 && done < total {
		left := now.Sub(p.began) / time.Duration(done-1) * time.Duration(total-done)
		text += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	if !p.terminal {
		if done == total || now.Sub(p.last) > reportInterval {
			p.last = now
			_, _ = fmt.Fprintln(p.out, text)
		}
		return
	}
	const width = 30
	full := width * done / total
	p.clear()
	_, _ = fmt.Fprintf(p.out, "[%s%s] %s", strings.Repeat("#", full), strings.Repeat(".", width-full), text)
	p.barActive = true
}

// clear removes the bar.
func (p *progress) clear() {
	if p.barActive {
		_, _ = fmt.Fprint(p.out, "\r\033[K")
		p.barActive = false
	}
}
