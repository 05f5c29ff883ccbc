// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress runs the steps of a long sequence and prints their progress.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Every is the time between two lines of a step that runs.
const Every = 15 * time.Second

// Step is one step of a sequence.
type Step struct {
	Name string
	Do   func() error
}

// Run runs steps in this goroutine until one fails. It prints a line when a step ends, and every few seconds until then.
func Run(w io.Writer, steps []Step) error {
	start := time.Now()
	for i, s := range steps {
		line := func(text string) {
			_, _ = fmt.Fprintf(w, "[%2d/%d] %-24s %s\n", i+1, len(steps), s.Name, text)
		}
		begun, done := time.Now(), make(chan struct{})
		var printer sync.WaitGroup
		printer.Go(func() {
			for tick := time.NewTicker(Every); ; {
				select {
				case <-done:
					tick.Stop()
					return
				case <-tick.C:
					line(fmt.Sprintf("… %s (total %s)", since(begun), since(start)))
				}
			}
		})
		err := s.Do()
		close(done)
		printer.Wait()
		if err != nil {
			line("failed after " + since(begun))
			return err
		}
		line("ok " + since(begun))
	}
	return nil
}

func since(t time.Time) string { return time.Since(t).Round(100 * time.Millisecond).String() }
