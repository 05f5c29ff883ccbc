// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress runs the steps of a long sequence and prints their progress.
package progress

import (
	"fmt"
	"io"
	"time"
)

// Step is one step of a sequence.
type Step struct {
	Name string
	Do   func() error
}

// Run runs steps in this goroutine until one fails, and prints when each begins and what became of it.
func Run(w io.Writer, steps []Step) error {
	for i, s := range steps {
		_, _ = fmt.Fprintf(w, "[%2d/%d] %-24s ", i+1, len(steps), s.Name)
		start, outcome := time.Now(), "ok"
		err := s.Do()
		if err != nil {
			outcome = "failed after"
		}
		_, _ = fmt.Fprintln(w, outcome, time.Since(start).Round(100*time.Millisecond))
		if err != nil {
			return err
		}
	}
	return nil
}
