// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress reports the progress of a sequence of steps: on a terminal as
// one line that is rewritten, elsewhere as a plain line every few seconds.
package progress

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

const (
	terminalEvery = time.Second
	plainEvery    = 15 * time.Second
	clearLine     = "\r\x1b[K"
)

// Reporter numbers and prints the steps of one sequence.
type Reporter struct {
	w        io.Writer
	terminal bool
	total    int
	width    int
	now      func() time.Time
	start    time.Time

	mu    sync.Mutex
	index int
}

// New returns a reporter for the named steps.
func New(w io.Writer, terminal bool, names []string) *Reporter {
	r := &Reporter{w: w, terminal: terminal, total: len(names), now: time.Now, start: time.Now()}
	for _, n := range names {
		r.width = max(r.width, len(n))
	}
	return r
}

// Step is one running step.
type Step struct {
	r     *Reporter
	index int
	name  string
	verb  string
	start time.Time
	done  chan struct{}
	wg    sync.WaitGroup
}

// Step begins the next step. The verb describes it, such as "building".
func (r *Reporter) Step(name, verb string) *Step {
	r.mu.Lock()
	r.index++
	s := &Step{r: r, index: r.index, name: name, verb: verb, start: r.now(), done: make(chan struct{})}
	r.mu.Unlock()
	every := plainEvery
	if r.terminal {
		every = terminalEvery
		s.tick()
	}
	s.wg.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-s.done:
				return
			case <-t.C:
				s.tick()
			}
		}
	})
	return s
}

// Done ends the step and prints its outcome and duration. It is called once.
func (s *Step) Done(outcome string) { s.end(outcome + " " + elapsed(s.r.now().Sub(s.start))) }

// Cached ends a step that had nothing to do.
func (s *Step) Cached() { s.end("cached") }

func (s *Step) end(state string) {
	close(s.done)
	s.wg.Wait()
	s.print(state, true)
}

func (s *Step) tick() {
	now := s.r.now()
	s.print(fmt.Sprintf("%s … %s (total %s)", s.verb, elapsed(now.Sub(s.start)), elapsed(now.Sub(s.r.start))), false)
}

func (s *Step) print(state string, final bool) {
	r := s.r
	r.mu.Lock()
	defer r.mu.Unlock()
	digits := len(strconv.Itoa(r.total))
	line := fmt.Sprintf("[%*d/%d] %-*s  %s", digits, s.index, r.total, r.width, s.name, state)
	if r.terminal {
		line = clearLine + line
	}
	if final || !r.terminal {
		line += "\n"
	}
	_, _ = io.WriteString(r.w, line)
}

// elapsed formats a duration: 0.4s, 12s, 1m12s, 1h02m.
func elapsed(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
}
