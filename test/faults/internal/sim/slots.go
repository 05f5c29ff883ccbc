// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
)

// rule is when a spec has slots: what drawTimes may draw, read anew.
type rule struct {
	interval, jitter time.Duration
	hours            []int // by the zone's clocks
	minute           int
	zone             *time.Location
}

// ruleOf fails for a spec that is invalid.
func ruleOf(spec *v1alpha1.SnapshotScheduleSpec) (r rule, ok bool) {
	r.interval, r.jitter = lengthOf(spec.SnapshotInterval), lengthOf(spec.Jitter)
	if r.interval > 0 {
		return r, r.jitter < r.interval
	}
	var err error
	if r.zone, err = time.LoadLocation(spec.TimeZone); err != nil || spec.Schedule == neverFires {
		return r, false
	}
	if spec.Schedule == "@daily" {
		r.hours = []int{0}
		return r, true
	}
	f := strings.Fields(string(spec.Schedule))
	r.minute = number(f[0])
	if step, every := strings.CutPrefix(f[1], "*/"); every {
		for h := 0; h < 24; h += number(step) {
			r.hours = append(r.hours, h)
		}
		return r, true
	}
	for h := range strings.SplitSeq(f[1], ",") {
		r.hours = append(r.hours, number(h))
	}
	return r, true
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	must(err)
	return n
}

func lengthOf(d v1alpha1.Duration) time.Duration {
	if d == "" {
		return 0
	}
	parsed, err := model.ParseDuration(string(d))
	must(err)
	return time.Duration(parsed)
}

// has tells whether a time may be a slot: with jitter, whatever the offset.
func (r rule) has(slot, anchor time.Time) bool {
	if r.interval > 0 {
		since := slot.Sub(anchor)
		return since >= 0 && (since%r.interval == 0 || since%r.interval < r.jitter)
	}
	for offset := time.Duration(0); offset == 0 || offset < r.jitter; offset += time.Second {
		if r.fires(slot.Add(-offset)) {
			return slot.After(anchor)
		}
	}
	return false
}

func (r rule) fires(t time.Time) bool {
	local := t.In(r.zone)
	if local.Second() != 0 {
		return false
	}
	if local.Minute() == r.minute && slices.Contains(r.hours, local.Hour()) {
		return true
	}
	// A time that does not exist fires within the hour after the gap.
	_, offset := local.Zone()
	_, before := t.Add(-time.Hour).In(r.zone).Zone()
	return offset > before
}

// last is the newest firing that was due for every offset, some time ago; there
// is no change of clocks near.
func (r rule) last(now, anchor time.Time) (time.Time, bool) {
	now = now.Add(-max(r.jitter-time.Second, 0))
	if r.interval > 0 {
		since := now.Sub(anchor)
		return anchor.Add(since - since%r.interval), since >= 0
	}
	for day := range 3 {
		local := now.In(r.zone).AddDate(0, 0, -day)
		for _, h := range slices.Backward(r.hours) {
			at := time.Date(local.Year(), local.Month(), local.Day(), h, r.minute, 0, 0, r.zone)
			if !at.After(now) {
				return at, at.After(anchor)
			}
		}
	}
	return time.Time{}, false
}

// Slots judges that every snapshot that the operators created was for a slot of
// its schedule, as its spec was at some time, or for a time that was asked for.
func Slots(h *history.History) []oracle.Violation {
	terms := termsOf(h)
	var found []oracle.Violation
	for i, c := range h.Changes {
		s, ok := c.After.(*snapshotv1.VolumeSnapshot)
		if !ok || c.Before != nil || c.Request < 0 {
			continue
		}
		if why := terms.refuse(s, h.Requests[c.Request].Clock); why != "" {
			found = append(found, oracle.Violation{
				Oracle: "Slot", At: c.At, Change: i, Request: c.Request,
				Message: fmt.Sprintf("VolumeSnapshot %s was created, but %s", s.Name, why),
			})
		}
	}
	return found
}

// terms are all that ever decided about slots in a run, by UID.
type terms struct {
	created   map[types.UID]time.Time
	rules     map[types.UID][]rule
	requested map[types.UID][]time.Time
}

func termsOf(h *history.History) terms {
	t := terms{map[types.UID]time.Time{}, map[types.UID][]rule{}, map[types.UID][]time.Time{}}
	for _, c := range h.Changes {
		if _, snapshot := c.After.(*snapshotv1.VolumeSnapshot); c.After == nil || snapshot {
			continue
		}
		uid := c.After.GetUID()
		t.created[uid] = c.After.GetCreationTimestamp().Time
		if at, err := time.Parse(time.RFC3339, c.After.GetAnnotations()[v1alpha1.AnnotationRequestedAt]); err == nil {
			t.requested[uid] = append(t.requested[uid], at)
		}
		s, ok := c.After.(*v1alpha1.SnapshotSchedule)
		if !ok || c.Before != nil && c.Before.GetGeneration() == s.Generation {
			continue
		}
		if r, valid := ruleOf(&s.Spec); valid {
			t.rules[uid] = append(t.rules[uid], r)
		}
	}
	return t
}

func (t terms) refuse(s *snapshotv1.VolumeSnapshot, clock time.Time) string {
	slot, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
	if err != nil {
		return "its slot is not readable"
	}
	schedule, claim := metav1.GetControllerOf(s).UID, types.UID(s.Labels[v1alpha1.LabelMapKey])
	anchor := t.created[schedule]
	if t.created[claim].After(anchor) {
		anchor = t.created[claim]
	}
	is := func(at time.Time) bool { return at.Equal(slot) }
	switch {
	case slot.After(clock):
		return "its slot is still to come"
	case slot.Before(anchor):
		return "its slot is before the schedule had the PVC"
	case slices.ContainsFunc(t.requested[schedule], is), slices.ContainsFunc(t.requested[claim], is),
		slices.ContainsFunc(t.rules[schedule], func(r rule) bool { return r.has(slot, anchor) }):
		return ""
	}
	return fmt.Sprintf("%s is no slot of its schedule", slot.Format(time.RFC3339))
}
