// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/robfig/cron/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Anchor returns the anchor of a PVC under a schedule: the later of the two creation times.
func Anchor(schedule *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim) time.Time {
	return later(schedule.CreationTimestamp.Time, claim.CreationTimestamp.Time)
}

// carried returns the slot of the newest snapshot of a series that is older than its PVC, which a rollback carried over, or that a newer
// one says its rhythm goes on from, as the older ones go; zero without one.
func (e *series) carried() (slot time.Time) {
	for _, s := range e.snapshots {
		if covered, ok := coveredSlot(s, e.now); ok && s.CreationTimestamp.Before(&e.claim.CreationTimestamp) {
			slot = later(slot, covered)
		}
		if from, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationRhythm]); err == nil && !from.After(e.now) {
			slot = later(slot, from)
		}
	}
	return slot
}

// first returns the time from which the PVC has slots.
func (e *series) first() time.Time {
	if carried := e.carried(); !carried.IsZero() {
		return carried
	}
	return Anchor(e.schedule, e.claim)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// requested returns the slot that the annotation of a schedule requests for a PVC, in whole seconds: a time and, after a space, the names
// of PVCs, separated by commas. Without names it is for all. Zero if there is none, or if the annotation is malformed.
func requested(s *v1alpha1.SnapshotSchedule, claim string) (none time.Time) {
	text, names, some := strings.Cut(s.Annotations[v1alpha1.AnnotationRequestedAt], " ")
	claims := strings.Split(names, ",")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || some && (slices.Contains(claims, "") || !slices.Contains(claims, claim)) {
		return none
	}
	return at.Truncate(time.Second)
}

// requested returns the slot that is requested for the PVC, zero if there is none or it counts for nothing.
func (e *series) requested() (none time.Time) {
	if at := requested(e.schedule, e.claim.Name); !at.Before(Anchor(e.schedule, e.claim)) {
		return at
	}
	return none
}

// newestSlot returns the newest slot that a snapshot covers.
func (e *series) newestSlot() (newest time.Time) {
	for _, s := range e.snapshots {
		if slot, ok := coveredSlot(s, e.now); ok {
			newest = later(newest, slot)
		}
	}
	return newest
}

// tooOld returns whether a slot is not due any more.
func (e *series) tooOld(slot time.Time) bool {
	age := e.now.Sub(slot)
	return e.ttl > 0 && age >= e.ttl || e.startingDeadline > 0 && age >= e.startingDeadline
}

// mayBeDue returns whether a slot is due for the PVC; near changes of the zone's clock, whether one may be.
func (e *series) mayBeDue() bool {
	covered := e.newestSlot()
	due := func(slot time.Time) bool { return slot.After(covered) && !slot.After(e.now) && !e.tooOld(slot) }
	return due(e.requested()) || !e.suspend && due(e.latestSlot(covered, e.now))
}

// latestSlot returns the latest slot of the interval or the cron line after one time, and up to another; zero if there is none.
func (e *series) latestSlot(after, by time.Time) time.Time {
	return e.Spec.latestSlot(e.first(), e.delay(), after, by)
}

// delay returns the offset of the slots. That of the snapshot that was carried over has it already.
func (e *series) delay() time.Duration {
	if e.interval > 0 && !e.carried().IsZero() {
		return 0
	}
	return e.offset(e.mapKey)
}

// latestSlot returns that of a PVC with an anchor. It is exact unless the zone's clock changes shortly before.
func (spec *Spec) latestSlot(anchor time.Time, offset time.Duration, after, by time.Time) (none time.Time) {
	base, limit := by.Add(-offset), later(anchor, after).Add(-offset)
	switch {
	case spec.interval == 0:
		if firing, ok := spec.cron.lastFiring(base, limit, spec.zone); ok {
			return firing.Add(offset)
		}
	case !base.Before(anchor):
		if slot := anchor.Add(base.Sub(anchor).Truncate(spec.interval) + offset); slot.After(after) {
			return slot
		}
	}
	return none
}

// offset returns by how much jitter delays the slots of a PVC. Its hash must never change: slots are part of the names of snapshots.
func (spec *Spec) offset(mapKey string) time.Duration {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(mapKey))
	return time.Duration(hash.Sum64()%uint64(max(spec.jitter.Seconds(), 1))) * time.Second
}

// cronLine is a cron line as CronJob's parser reads it: a bit for each value. To find a firing it tests every minute.
type cronLine cron.SpecSchedule

// unrestricted is the bit that the parser adds to a field with a * among its items.
const unrestricted = 1 << 63

var macros = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *",
}

// readCron parses a cron line. A line that never fires is an error.
func readCron(text string) (*cronLine, error) {
	if line, ok := macros[text]; ok {
		text = line
	}
	if strings.ContainsAny(text, "@=") {
		return nil, fmt.Errorf("cron line %q has a time zone or an unknown macro", text)
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("cron line %q: %w", text, err)
	}
	line := parsed.(*cron.SpecSchedule) // all but macros are
	if line.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, fmt.Errorf("cron line %q never fires", text)
	}
	return (*cronLine)(line), nil
}

// fires returns whether the line fires at a time of the clock on the wall.
func (l *cronLine) fires(wall time.Time) bool {
	has := func(field uint64, value int) bool { return field>>value&1 == 1 }
	day, weekday := has(l.Dom, wall.Day()), has(l.Dow, int(wall.Weekday()))
	onDay := day && weekday
	if (l.Dom|l.Dow)&unrestricted == 0 {
		onDay = day || weekday
	}
	return onDay && has(l.Minute, wall.Minute()) && has(l.Hour, wall.Hour()) && has(l.Month, int(wall.Month()))
}

// lastFiring returns the latest minute up to now, and after limit, at which the line may fire in a zone: both occurrences of a time that
// exists twice, and the end of the gap for one that does not exist.
func (l *cronLine) lastFiring(now, limit time.Time, zone *time.Location) (time.Time, bool) {
	for t := now.Truncate(time.Minute); t.After(limit); t = t.Add(-time.Minute) {
		if l.fires(t.In(zone)) || l.firesInGapBefore(t.In(zone)) {
			return t, true
		}
	}
	return time.Time{}, false
}

func (l *cronLine) firesInGapBefore(t time.Time) bool {
	_, is := t.Zone()
	_, was := t.Add(-time.Minute).Zone()
	for wall := t.Add(time.Duration(was-is) * time.Second); wall.Before(t); wall = wall.Add(time.Minute) {
		// The wall time that the clock skipped, without a zone.
		if l.fires(time.Unix(wall.Unix()+int64(is), 0).UTC()) {
			return true
		}
	}
	return false
}

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
