// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/spf13/pflag"

	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// ProgressAfter is how soon a command says for what it waits, and ProgressEvery how often, at least.
const (
	ProgressAfter = 3 * time.Second
	ProgressEvery = time.Minute
)

// Span writes a duration in the grammar in which flags and specs take it, such as 1d12h.
func Span(d time.Duration) string { return model.Duration(d.Round(time.Second)).String() }

// AddTimeout adds --timeout, which is of the whole command.
func AddTimeout(flags *pflag.FlagSet, to *time.Duration, value time.Duration) {
	AddDuration(flags, to, "timeout", value, true, "How long the whole command may take, such as 90s; 0 means no limit.")
}

// AddDuration adds a flag with a duration in the grammar of specs; 0 only where it has a meaning.
func AddDuration(flags *pflag.FlagSet, to *time.Duration, name string, value time.Duration, zero bool, usage string) {
	*to = value
	flags.Var(&durationValue{to, zero}, name, usage)
}

type durationValue struct {
	to   *time.Duration
	zero bool
}

// Set reads the value.
func (v *durationValue) Set(text string) (err error) {
	if v.zero && (text == "0" || text == "0s") {
		*v.to = 0
		return nil
	}
	if *v.to, err = schedule.ParseDuration(text); err != nil && v.zero {
		err = fmt.Errorf("%w, or 0", err)
	}
	return err
}

func (v *durationValue) String() string {
	if v.to == nil { // which pflag asks for
		return ""
	}
	return Span(*v.to)
}

// Type is what the help calls the value.
func (v *durationValue) Type() string { return "duration" }
