// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// terms are a spec, read by the contract. Durations that are left out are zero.
type terms struct {
	selector                                            labels.Selector
	interval, jitter, ttl, readyDeadline, startDeadline time.Duration
	cron                                                *cronLine
	zone                                                *time.Location
	suspend                                             bool
	keep                                                v1alpha1.Keep
	maxCount, minReady                                  int
	detachedTTL                                         time.Duration
	detachedMinReady                                    int
}

var (
	durations = memory[time.Duration]{read: readDuration}
	zones     = memory[*time.Location]{read: time.LoadLocation}
	cronLines = memory[*cronLine]{read: readCron}
)

// longest is the longest duration that the contract takes.
const longest = 100 * 365 * 24 * time.Hour

// readTerms fails for an invalid spec.
func readTerms(spec *v1alpha1.SnapshotScheduleSpec) (*terms, error) {
	t := &terms{
		suspend: spec.Suspend, keep: spec.Retention.Keep, minReady: 1, readyDeadline: time.Hour,
		detachedMinReady: int(spec.Retention.Detached.MinReady),
	}
	if n := spec.Retention.MinReady; n != nil {
		t.minReady = int(*n)
	}
	if n := spec.Retention.MaxCount; n != nil {
		t.maxCount = int(*n)
	}
	for _, field := range []struct {
		text v1alpha1.Duration
		into *time.Duration
	}{
		{spec.SnapshotInterval, &t.interval}, {spec.Jitter, &t.jitter}, {spec.SnapshotTTL, &t.ttl},
		{spec.ReadyDeadline, &t.readyDeadline}, {spec.StartingDeadline, &t.startDeadline},
		{spec.Retention.Detached.SnapshotTTL, &t.detachedTTL},
	} {
		if field.text == "" {
			continue
		}
		d, err := durations.of(string(field.text))
		if err != nil {
			return nil, err
		}
		*field.into = d
	}
	var err error
	if t.selector, err = metav1.LabelSelectorAsSelector(&spec.Selector); err != nil {
		return nil, err
	}
	return t, t.readTimes(spec)
}

func (t *terms) readTimes(spec *v1alpha1.SnapshotScheduleSpec) (err error) {
	if strings.EqualFold(spec.TimeZone, "local") {
		return errors.New("the zone of a machine is no zone")
	}
	if t.zone, err = zones.of(spec.TimeZone); err != nil {
		return err
	}
	switch {
	case (t.interval == 0) == (spec.Schedule == ""):
		return errors.New("exactly one of snapshotInterval and schedule")
	case t.interval > 0 && t.jitter >= t.interval:
		return errors.New("jitter is not shorter than the interval")
	case t.interval > 0:
		return nil
	}
	t.cron, err = cronLines.of(string(spec.Schedule))
	return err
}

func readDuration(text string) (time.Duration, error) {
	d, err := model.ParseDuration(text)
	switch {
	case err != nil:
		return 0, err
	case time.Duration(d) < time.Second, time.Duration(d) > longest, strings.Contains(text, "ms"):
		return 0, fmt.Errorf("duration %q: from 1s to 100y", text)
	}
	return time.Duration(d), nil
}
