// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/check"
)

// report is what came of the play.
type report struct {
	OK bool `json:"ok"`
	// Seconds is how long the play took, without the build.
	Seconds float64        `json:"seconds"`
	Checks  []check.Result `json:"checks"`
	// Error is what ended the play, if it is not a check.
	Error string `json:"error,omitempty"`
	// Logs is the folder with the logs, if they were left.
	Logs string `json:"logs,omitempty"`

	err error
}

// end fills in how the play ended.
func (r *report) end(err error, took time.Duration) {
	r.err = err
	r.OK = err == nil
	r.Seconds = took.Round(100 * time.Millisecond).Seconds()
	if err != nil && !errors.Is(err, errCheck) {
		r.Error = err.Error()
	}
}

func (r *report) exitCode() int {
	switch {
	case r.err == nil:
		return 0
	case errors.Is(r.err, errInterrupted):
		return exitInterrupted
	}
	return exitFailed
}

func (r *report) write(w io.Writer) error {
	if r.Checks == nil {
		r.Checks = []check.Result{}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
