// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
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
			Keep:          tiers(spec.Retention.Keep),
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
	duration("retention.editDelay", spec.Retention.EditDelay) // used with status.retention, see graceOf
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

func tiers(k v1alpha1.Keep) retention.Tiers {
	return retention.Tiers{
		Last:    int(k.Last),
		Hourly:  int(k.Hourly),
		Daily:   int(k.Daily),
		Weekly:  int(k.Weekly),
		Monthly: int(k.Monthly),
		Yearly:  int(k.Yearly),
	}
}

// delay returns a duration that the API server has validated; zero if it is not set.
func delay(d v1alpha1.Duration) time.Duration {
	if d == "" {
		return 0
	}
	parsed, _ := schedule.ParseDuration(string(d))
	return parsed
}
