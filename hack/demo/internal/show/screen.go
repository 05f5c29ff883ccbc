// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// plainEvery is the time between two tables where none can be drawn over.
const plainEvery = 5 * time.Second

// Screen is where the demo is played: a terminal, or plain lines.
type Screen struct {
	Paint
	w        io.Writer
	terminal bool
	now      func() time.Time

	mu sync.Mutex
	// drawn is how many lines of a live frame are to be drawn over.
	drawn int
	// last is the last frame, and shown when it was printed, if it was.
	last  []string
	shown time.Time
}

// On is a screen on a file, which may be a terminal.
func On(f *os.File) *Screen {
	terminal := false
	if info, err := f.Stat(); err == nil {
		terminal = info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	}
	return New(f, terminal, terminal && os.Getenv("NO_COLOR") == "")
}

// New is a screen of a given sort.
func New(w io.Writer, terminal, colours bool) *Screen {
	return &Screen{w: w, terminal: terminal, Paint: Paint(colours), now: time.Now}
}

// FrameEvery is how often it is worth to draw a frame.
func (s *Screen) FrameEvery() time.Duration {
	if s.terminal {
		return 250 * time.Millisecond
	}
	return time.Second
}

// Print writes a paragraph, below the frame if there is one.
func (s *Screen) Print(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	_, _ = fmt.Fprintf(s.w, format+"\n", args...)
}

// Frame draws lines, in the place of the frame before. Where that can't be
// done, it prints a frame now and then.
func (s *Screen) Frame(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.terminal {
		s.last = lines
		if now := s.now(); now.Sub(s.shown) >= plainEvery {
			s.plain()
		}
		return
	}
	var b strings.Builder
	if s.drawn == 0 {
		b.WriteString("\x1b[?25l") // no cursor
	} else {
		fmt.Fprintf(&b, "\x1b[%dF", s.drawn)
	}
	b.WriteString("\x1b[?7l") // no wrapping: a line is a line
	for _, line := range lines {
		b.WriteString("    " + line + "\x1b[K\n")
	}
	b.WriteString("\x1b[?7h\x1b[J")
	s.drawn = len(lines)
	_, _ = io.WriteString(s.w, b.String())
}

// Settle leaves the last frame as it is, and gives the cursor back.
func (s *Screen) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
}

func (s *Screen) settle() {
	if s.drawn > 0 {
		_, _ = io.WriteString(s.w, "\x1b[?25h")
		s.drawn = 0
	}
	if s.last != nil {
		s.plain()
	}
	s.shown = time.Time{}
}

func (s *Screen) plain() {
	for _, line := range s.last {
		_, _ = fmt.Fprintln(s.w, "    "+line)
	}
	s.last, s.shown = nil, s.now()
}
