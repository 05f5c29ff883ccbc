// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress runs the steps of a long sequence and prints their progress.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// Step is one step of a sequence.
type Step struct {
	Name string
	// Do runs the step. It may report what it is doing, as often as that changes.
	Do func(report func(string)) error
}

// Run runs steps in this goroutine until one fails. On a terminal, the line of a step is rewritten every second while it runs.
// Elsewhere, a line is added every half minute.
func Run(w io.Writer, steps []Step) error {
	pause, begin, end, width := 30*time.Second, "", "\n", 1000
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		pause, begin, end = time.Second, "\r\033[K", ""
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			width = columns - 1 // a longer line would not be rewritten as a whole
		}
	}
	for i, s := range steps {
		var doing atomic.Value
		start, stopped, stop := time.Now(), make(chan struct{}), make(chan struct{})
		show := func(outcome, end string) {
			line := fmt.Sprintf("[%2d/%d] %-24s %s", i+1, len(steps), s.Name, outcome)
			_, _ = fmt.Fprint(w, begin, line[:min(len(line), width)], end)
		}
		elapsed := func(unit time.Duration) string { return time.Since(start).Round(unit).String() }
		go func() {
			defer close(stopped)
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case <-tick.C:
					text, _ := doing.Load().(string)
					show(elapsed(time.Second)+"  "+text[strings.LastIndex(text, "\n")+1:], end)
				}
			}
		}()
		err := s.Do(func(text string) { doing.Store(text) })
		close(stop)
		<-stopped
		outcome := "ok "
		if err != nil {
			outcome = "failed after "
		}
		show(outcome+elapsed(100*time.Millisecond), "\n")
		if err != nil {
			return err
		}
	}
	return nil
}
