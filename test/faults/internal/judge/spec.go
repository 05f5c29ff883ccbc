// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/labels"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Spec is a valid SnapshotScheduleSpec, parsed by the contract. Omitted durations are zero.
type Spec struct {
	Jitter, TTL, StartingDeadline time.Duration

	selector           labels.Selector
	storageClasses     []v1alpha1.StorageClassName
	interval           time.Duration
	cron               *cronLine
	zone               *time.Location
	suspend            bool
	readyDeadline      time.Duration
	keep               v1alpha1.Keep
	maxCount, minReady int
	detachedTTL        time.Duration
	detachedMinReady   int
}

var (
	durations = parseCache[time.Duration]{parse: parseDuration}
	zones     = parseCache[*time.Location]{parse: time.LoadLocation}
	cronLines = parseCache[*cronLine]{parse: readCron}
)

// parseCache caches parsed texts: a history has few specs, and each is evaluated thousands of times. Errors are not cached.
type parseCache[T any] struct {
	parse  func(text string) (T, error)
	parsed sync.Map
}

func (c *parseCache[T]) get(text string) (T, error) {
	if value, ok := c.parsed.Load(text); ok {
		return value.(T), nil
	}
	value, err := c.parse(text)
	if err == nil {
		c.parsed.Store(text, value)
	}
	return value, err
}

// longest is the contract's longest duration.
const longest = 100 * 365 * 24 * time.Hour

// ReadSpec parses a spec. It returns an error for an invalid one.
func ReadSpec(s *v1alpha1.SnapshotScheduleSpec) (*Spec, error) {
	spec := &Spec{
		storageClasses: s.StorageClassNames, suspend: s.Suspend, keep: s.Retention.Keep, minReady: 1, readyDeadline: time.Hour,
		detachedMinReady: int(s.Retention.Detached.MinReady),
	}
	if n := s.Retention.MinReady; n != nil {
		spec.minReady = int(*n)
	}
	if n := s.Retention.MaxCount; n != nil {
		spec.maxCount = int(*n)
	}
	for _, field := range []struct {
		text v1alpha1.Duration
		into *time.Duration
	}{
		{s.SnapshotInterval, &spec.interval}, {s.Jitter, &spec.Jitter}, {s.SnapshotTTL, &spec.TTL},
		{s.ReadyDeadline, &spec.readyDeadline}, {s.StartingDeadline, &spec.StartingDeadline},
		{s.Retention.Detached.SnapshotTTL, &spec.detachedTTL},
	} {
		if field.text == "" {
			continue
		}
		d, err := durations.get(string(field.text))
		if err != nil {
			return nil, err
		}
		*field.into = d
	}
	var err error
	if spec.selector, err = s.Selector.AsSelector(); err != nil {
		return nil, err
	}
	return spec, spec.readTimes(s)
}

func (spec *Spec) readTimes(s *v1alpha1.SnapshotScheduleSpec) (err error) {
	if strings.EqualFold(s.TimeZone, "local") {
		return errors.New("time zone Local depends on the machine")
	}
	if spec.zone, err = zones.get(s.TimeZone); err != nil {
		return err
	}
	switch {
	case (spec.interval == 0) == (s.Schedule == ""):
		return errors.New("exactly one of snapshotInterval and schedule must be set")
	case spec.interval > 0 && spec.Jitter >= spec.interval:
		return errors.New("jitter is not shorter than the interval")
	case spec.interval > 0:
		return nil
	}
	spec.cron, err = cronLines.get(string(s.Schedule))
	return err
}

func parseDuration(text string) (time.Duration, error) {
	d, err := model.ParseDuration(text)
	switch {
	case err != nil:
		return 0, err
	case time.Duration(d) < time.Second, time.Duration(d) > longest, strings.Contains(text, "ms"):
		return 0, fmt.Errorf("duration %q is not within 1s and 100y", text)
	}
	return time.Duration(d), nil
}
