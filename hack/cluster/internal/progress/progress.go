// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress prints the steps of a long sequence: a line every few seconds while one runs, and one when it ends.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Every is the time between two lines of a step that runs.
const Every = 15 * time.Second

// Steps numbers the steps of one sequence.
type Steps struct {
	w     io.Writer
	total int
	count int
	start time.Time
}

// New returns a sequence with a number of steps.
func New(w io.Writer, total int) *Steps { return &Steps{w: w, total: total, start: time.Now()} }

// Do runs a step in this goroutine. The verb says what it does, such as "building".
func (s *Steps) Do(name, verb string, do func() error) error {
	s.count++
	line := func(text string) {
		_, _ = fmt.Fprintf(s.w, "[%2d/%d] %-24s %s\n", s.count, s.total, name, text)
	}
	start, done := time.Now(), make(chan struct{})
	var printer sync.WaitGroup
	printer.Go(func() {
		for tick := time.NewTicker(Every); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				line(fmt.Sprintf("%s … %s (total %s)", verb, since(start), since(s.start)))
			}
		}
	})
	err := do()
	close(done)
	printer.Wait()
	outcome := "ok"
	if err != nil {
		outcome = "failed after"
	}
	line(outcome + " " + since(start))
	return err
}

func since(t time.Time) string { return time.Since(t).Round(100 * time.Millisecond).String() }
