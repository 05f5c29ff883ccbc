// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/rig"
)

// report is what has become of the plans so far.
type report struct {
	began  time.Time
	mu     sync.Mutex
	rows   map[plan.Class]*row
	failed []string
}

type row struct {
	plans, failed, missed int
	took                  time.Duration
}

func (r *report) add(test string, class plan.Class, result rig.Result, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows[class] == nil {
		r.rows[class] = &row{}
	}
	w := r.rows[class]
	w.plans++
	w.took += took
	switch {
	case result.Err != nil, len(result.Violations) > 0:
		w.failed++
		r.failed = append(r.failed, id(test)+": "+strings.Join(result.Violations, "; "))
	case result.Missed:
		w.missed++
	}
}

// showProgress prints a line every minute until it is stopped.
func (r *report) showProgress() (stop func()) {
	tick := time.NewTicker(time.Minute)
	go func() {
		for range tick.C {
			fmt.Fprintln(os.Stderr, r.line())
		}
	}()
	return tick.Stop
}

func (r *report) line() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all row
	for _, w := range r.rows {
		all.plans, all.failed, all.missed = all.plans+w.plans, all.failed+w.failed, all.missed+w.missed
	}
	return fmt.Sprintf("%s: %d plans, %d failed, %d did not reach their points", time.Since(r.began).Round(time.Second), all.plans, all.failed, all.missed)
}

// write writes a table of the plans that ran.
func (r *report) write(t *testing.T, file string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| class | plans | failed | missed | time |\n| --- | ---: | ---: | ---: | ---: |\n", r.line())
	for _, class := range plan.Classes {
		if w := r.rows[class]; w != nil {
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %s |\n", class, w.plans, w.failed, w.missed, w.took.Round(time.Second))
		}
	}
	for _, f := range r.failed {
		fmt.Fprintf(&b, "\n- %s\n", f)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s (written to bin/faults.md)", r.line())
}
