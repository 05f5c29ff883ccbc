// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// screen shows how far the campaign is: a bar on a terminal, else a line now and
// then.
type screen struct {
	out      io.Writer
	terminal bool
	began    time.Time
	last     time.Time
	bar      bool
	what     string
}

// lineEvery is how often a line is written where there is no terminal.
const lineEvery = 30 * time.Second

func newScreen(f *os.File) *screen {
	return &screen{out: f, terminal: isTerminal(f), last: time.Now()}
}

func (s *screen) tell(text string) {
	s.wipe()
	_, _ = fmt.Fprintln(s.out, text)
}

func (s *screen) progress(what string, done, of, failed int) {
	now := time.Now()
	if s.what != what {
		s.what, s.began = what, now // the first is done: what went before is no measure
	}
	left := time.Duration(0)
	if done > 1 {
		left = now.Sub(s.began) / time.Duration(done-1) * time.Duration(of-done)
	}
	text := fmt.Sprintf("%d/%d %s, %d failed, about %s left", done, of, what, failed, left.Round(time.Second))
	if !s.terminal {
		if done == of || now.Sub(s.last) > lineEvery {
			s.last = now
			_, _ = fmt.Fprintln(s.out, text)
		}
		return
	}
	const width = 30
	full := width * done / of
	s.wipe()
	_, _ = fmt.Fprintf(s.out, "[%s%s] %s", strings.Repeat("#", full), strings.Repeat(".", width-full), text)
	s.bar = true
}

func (s *screen) wipe() {
	if s.bar {
		_, _ = fmt.Fprint(s.out, "\r\033[K")
		s.bar = false
	}
}

func (s *screen) end() { s.wipe() }

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
