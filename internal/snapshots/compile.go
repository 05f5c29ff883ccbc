// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// defaultReadyDeadline is the API's default, for objects that were stored before
// the field had one.
const defaultReadyDeadline = time.Hour

// compiled is a spec, compiled: everything in it parsed and checked.
type compiled struct {
	selector         labels.Selector
	rule             schedule.Rule
	jitter           time.Duration
	startingDeadline time.Duration
	suspend          bool
	retention        retention.Policy
	// kept returns what keeps does. To count the slots of a cron line takes long, so it is done once.
	kept func() (n int, all bool)
	// simulated is set if kept is what a simulation has found, and no bound.
	simulated bool
}

// Validate returns why a schedule's spec is invalid, or nil.
func Validate(s *v1alpha1.SnapshotSchedule) error {
	_, err := compile(&s.Spec)
	return err
}

// compile compiles a spec. The error names every field that is wrong.
func compile(spec *v1alpha1.SnapshotScheduleSpec) (*compiled, error) {
	var errs []error
	failed := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("spec.%s: %w", field, err))
		}
	}
	duration := func(field string, d v1alpha1.Duration) time.Duration {
		if d == "" {
			return 0
		}
		parsed, err := schedule.ParseDuration(string(d))
		failed(field, err)
		return parsed
	}

	selector, err := spec.Selector.AsSelector()
	failed("selector", err)
	location, err := schedule.LoadZone(spec.TimeZone)
	failed("timeZone", err)

	p := &compiled{
		selector:         selector,
		jitter:           duration("jitter", spec.Jitter),
		startingDeadline: duration("startingDeadline", spec.StartingDeadline),
		suspend:          spec.Suspend,
		retention: retention.Policy{
			TTL:           duration("snapshotTTL", spec.SnapshotTTL),
			Keep:          retention.Tiers(spec.Retention.Keep.Counts()),
			MaxCount:      int(ptr.Deref(spec.Retention.MaxCount, 0)),
			MinReady:      int(ptr.Deref(spec.Retention.MinReady, 1)),
			MinVerified:   int(spec.Retention.MinVerified),
			ReadyDeadline: duration("readyDeadline", spec.ReadyDeadline),
			Location:      location,
			MaxClockSkew:  DefaultMaxClockSkew, // the operator sets its own, see compileFor
			Detached: retention.Detached{
				TTL:      duration("retention.detached.snapshotTTL", spec.Retention.Detached.SnapshotTTL),
				MinReady: int(spec.Retention.Detached.MinReady),
			},
		},
	}
	duration("retention.editDelay", spec.Retention.EditDelay) // used with status.retention, see delaysOf
	if p.retention.ReadyDeadline == 0 {
		p.retention.ReadyDeadline = defaultReadyDeadline
	}

	interval := duration("snapshotInterval", spec.SnapshotInterval)
	switch {
	case (spec.SnapshotInterval == "") == (spec.Schedule == ""):
		errs = append(errs, errors.New("spec: set exactly one of snapshotInterval and schedule"))
	case interval > 0:
		p.rule, err = schedule.Every(interval)
		failed("snapshotInterval", err)
		if p.jitter >= interval {
			failed("jitter", fmt.Errorf("%s is not shorter than snapshotInterval %s", spec.Jitter, spec.SnapshotInterval))
		}
	case spec.Schedule != "":
		p.rule, err = schedule.ParseCron(string(spec.Schedule), location)
		failed("schedule", err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	p.kept = sync.OnceValues(p.keeps)
	return p, nil
}

// keeps returns how many snapshots of a PVC a spec keeps at most, if all become ready and none is
// held or requested, and with minVerified those that nothing else keeps; all: it never deletes any.
func (c *compiled) keeps() (n int, all bool) {
	r := &c.retention
	switch {
	case r.TTL == 0 && r.Keep == retention.Tiers{} && r.MaxCount == 0:
		return 0, true
	case r.TTL == 0 && r.Keep == retention.Tiers{}:
		n = r.MaxCount
	default:
		n = c.slotsWithin(r.TTL)
		for _, k := range r.Keep {
			n += k
		}
		if r.MaxCount > 0 {
			n = min(n, r.MaxCount)
		}
	}
	return max(n, r.MinReady, 1) + r.MinVerified, false
}

// surelyKeeps returns how many of these a spec keeps in any case: several rules may keep the same snapshots, and how many slots of a
// cron line are within a time varies.
func (c *compiled) surelyKeeps() int {
	r, n := &c.retention, c.retention.MaxCount
	if r.TTL != 0 || r.Keep != (retention.Tiers{}) {
		n = slices.Max(r.Keep[:])
		if c.rule.Interval() > 0 {
			n = max(n, c.slotsWithin(r.TTL))
		}
		if r.MaxCount > 0 {
			n = min(n, r.MaxCount)
		}
	}
	return max(n, r.MinReady, 1)
}

// mostSlots is how many slots of a cron line are counted at most: more than a year of hours. A schedule is
// compiled after each write of its status, and anybody may write a line that fires each minute.
const mostSlots = 10_000

// slotsWithin returns how many slots there are at most in a time.
func (c *compiled) slotsWithin(d time.Duration) int {
	if every := c.rule.Interval(); every > 0 {
		return int((d + every - 1) / every)
	}
	line := c.rule.Timeline(slotsSince, 0)
	var window []time.Time
	most, seen := 0, 0
	end := slotsSince.Add(d + 366*24*time.Hour)
	for at, ok := line.Next(slotsSince); ok && d > 0 && seen < mostSlots && at.Before(end); at, ok = line.Next(at) {
		seen++
		window = append(window, at)
		for !window[0].After(at.Add(-d)) {
			window = window[1:]
		}
		most = max(most, len(window))
	}
	return most
}

// slotsSince is before the slots that are counted. The year is a leap year.
var slotsSince = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// delay returns a duration that the API server has validated; zero if it is not set.
func delay(d v1alpha1.Duration) time.Duration {
	if d == "" {
		return 0
	}
	parsed, _ := schedule.ParseDuration(string(d))
	return parsed
}
