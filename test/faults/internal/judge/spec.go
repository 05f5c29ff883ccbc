// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Spec is a valid SnapshotScheduleSpec, parsed by the contract. Omitted durations are zero.
type Spec struct {
	jitter, ttl, startingDeadline time.Duration

	selector                   labels.Selector
	storageClasses             []v1alpha1.StorageClassName
	interval                   time.Duration
	cron                       *cronLine
	zone                       *time.Location
	suspend                    bool
	keep                       v1alpha1.Keep
	readyDeadline, detachedTTL time.Duration
	maxCount                   int
	minReady, detachedMinReady int
}

// longest is the contract's longest duration.
const longest = 100 * 365 * 24 * time.Hour

// ReadSpec parses a spec. It returns an error for an invalid one.
func ReadSpec(s *v1alpha1.SnapshotScheduleSpec) (*Spec, error) {
	var errs []error
	read := func(text v1alpha1.Duration) time.Duration {
		d, err := readDuration(text)
		errs = append(errs, err)
		return d
	}
	spec := &Spec{
		interval: read(s.SnapshotInterval), jitter: read(s.Jitter), ttl: read(s.SnapshotTTL), startingDeadline: read(s.StartingDeadline),
		readyDeadline: read(cmp.Or(s.ReadyDeadline, "1h")), detachedTTL: read(s.Retention.Detached.SnapshotTTL),
		storageClasses: s.StorageClassNames, suspend: s.Suspend, keep: s.Retention.Keep, maxCount: int(ptr.Deref(s.Retention.MaxCount, 0)),
		minReady: int(ptr.Deref(s.Retention.MinReady, 1)), detachedMinReady: int(s.Retention.Detached.MinReady),
	}
	var err error
	if spec.selector, err = s.Selector.AsSelector(); err != nil {
		errs = append(errs, err)
	}
	if spec.zone, err = time.LoadLocation(s.TimeZone); err != nil {
		errs = append(errs, err)
	}
	if s.Schedule != "" {
		spec.cron, err = readCron(string(s.Schedule))
		errs = append(errs, err)
	}
	switch {
	case strings.EqualFold(s.TimeZone, "local"):
		return nil, errors.New("time zone Local depends on the machine")
	case (s.SnapshotInterval == "") == (s.Schedule == ""):
		return nil, errors.New("exactly one of snapshotInterval and schedule must be set")
	case spec.interval > 0 && spec.jitter >= spec.interval:
		return nil, errors.New("jitter is not shorter than the interval")
	}
	return spec, errors.Join(errs...)
}

// readDuration parses a duration; an empty one is zero.
func readDuration(text v1alpha1.Duration) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := model.ParseDuration(string(text))
	switch {
	case err != nil:
		return 0, err
	case time.Duration(d) < time.Second, time.Duration(d) > longest, strings.Contains(string(text), "ms"):
		return 0, fmt.Errorf("duration %q is not within 1s and 100y", text)
	}
	return time.Duration(d), nil
}
