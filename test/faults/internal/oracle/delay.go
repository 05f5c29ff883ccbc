// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

const (
	// newFor is how long a schedule deletes nothing that is older than itself.
	newFor = time.Hour
	// childDelay is how long the child of a ClusterSnapshotSchedule keeps at least what an edit would delete.
	childDelay = time.Minute
	// delaySlack is what clocks in whole seconds and the way of a request take from a delay.
	delaySlack = 2 * time.Second
)

// editDelays are the ends of the delays after edits, by schedule and resource version, as the history of what the API server held shows
// them: a delay starts at the latest when the record says so, and at the earliest with the edit itself.
type editDelays map[types.UID]map[string]time.Time

// delaysOf follows the edits of every schedule.
func delaysOf(h *history.History) editDelays {
	all := editDelays{}
	ends := map[types.UID]generationEnds{}
	for i := range h.Changes {
		after, ok := h.Changes[i].After.(*v1alpha1.SnapshotSchedule)
		if !ok {
			continue
		}
		before, _ := h.Changes[i].Before.(*v1alpha1.SnapshotSchedule)
		if all[after.UID] == nil {
			all[after.UID], ends[after.UID] = map[string]time.Time{}, generationEnds{}
		}
		ends[after.UID].follow(h.Changes[i].At, before, after)
		all[after.UID][after.ResourceVersion] = ends[after.UID][after.Generation]
	}
	return all
}

// generationEnds are the ends of the delays of one schedule, by generation, as far as its changes were followed.
type generationEnds map[int64]time.Time

// follow extends the delay of a generation by what one change of its schedule does.
func (ends generationEnds) follow(at time.Time, before, after *v1alpha1.SnapshotSchedule) {
	own := ownDelay(after)
	var had *v1alpha1.RetentionRecord
	if before != nil {
		had = before.Status.Retention
	}
	record := after.Status.Retention
	switch {
	case before == nil && record != nil && record.Generation == after.Generation:
		ends[after.Generation] = record.SinceTime.Add(delayOf(record.EditDelay)) // of before the history
	case before == nil || before.Generation != after.Generation:
		delay := own
		if had != nil {
			delay = max(delay, delayOf(had.EditDelay))
		}
		ends[after.Generation] = at.Add(delay)
	case had != nil && record == nil && own > 0: // a lost record starts anew
		ends[after.Generation] = at.Add(own)
	case fleetOf(after) == "" && confirmsIt(after): // from then on the spec's own delay counts
		ends[after.Generation] = time.Time{}
	}
}

func delayOf(text v1alpha1.Duration) time.Duration {
	if text == "" {
		return 0
	}
	d, err := durations.get(string(text))
	if err != nil {
		return longest
	}
	return d
}

// ownDelay is the delay of a schedule's spec. A child has at least a minute.
func ownDelay(s *v1alpha1.SnapshotSchedule) time.Duration {
	own := delayOf(s.Spec.Retention.EditDelay)
	if fleetOf(s) != "" {
		own = max(own, childDelay)
	}
	return own
}

// confirmsIt returns whether an object confirms its own generation.
func confirmsIt(o client.Object) bool {
	return o.GetAnnotations()[v1alpha1.AnnotationConfirmGeneration] == strconv.FormatInt(o.GetGeneration(), 10)
}

// confirmed returns whether a schedule's spec was confirmed within the guards' window: that of a child by its ClusterSnapshotSchedule.
func (d deletion) confirmed(h *history.History, s *v1alpha1.SnapshotSchedule) bool {
	if fleetOf(s) == "" {
		return confirmsIt(s)
	}
	confirmed := false
	for i := range h.Changes[:d.index] {
		before, was := h.Changes[i].Before.(*v1alpha1.ClusterSnapshotSchedule)
		after, is := h.Changes[i].After.(*v1alpha1.ClusterSnapshotSchedule)
		if was && before.Name == s.Name || is && after.Name == s.Name {
			held := confirmed && !h.Changes[i].At.Before(d.windowStart())
			confirmed = held || is && confirmsIt(after) && reflect.DeepEqual(childSpec(after, !s.Spec.Suspend), s.Spec)
		}
	}
	return confirmed
}

// delayed returns why a delay forbade a delete by every schedule that the guards may have judged by, empty if one allowed it. What is
// uncut holds no data and is not protected.
func (d deletion) delayed(h *history.History, views []*view, all editDelays) string {
	if isUncut(d.snapshot) {
		return ""
	}
	why := ""
	for _, s := range d.judgedBy(h, views) {
		if s == nil || !allowedUnder(s, d.snapshot, views) {
			continue // as before the schedule, or before the edit: that excuses nothing
		}
		if why = d.protectedBy(s, all, d.confirmed(h, s)); why == "" {
			return ""
		}
	}
	return why
}

// judgedBy returns the schedules that the guards were shown: the record that is read live decides, and not one that is remembered. If
// none is recorded, it returns those that the API server held within the guards' window.
func (d deletion) judgedBy(h *history.History, views []*view) []*v1alpha1.SnapshotSchedule {
	var shown, held []*v1alpha1.SnapshotSchedule
	for _, r := range d.evidence(h) {
		if r.Resource != "snapshotschedules" || r.Seen != http.StatusOK {
			continue
		}
		o, _, err := decoder.Decode(r.Answer, nil, nil)
		if err != nil {
			continue // metadata only, or nothing was recorded
		}
		if s, ok := o.(*v1alpha1.SnapshotSchedule); ok && owned(d.snapshot, s) {
			shown = append(shown, s)
		}
	}
	if len(shown) > 0 {
		return shown
	}
	for _, v := range views {
		held = append(held, v.schedule)
	}
	return held
}

// allowedUnder returns whether a schedule allows a delete in one of the views.
func allowedUnder(s *v1alpha1.SnapshotSchedule, snapshot *snapshotv1.VolumeSnapshot, views []*view) bool {
	return slices.ContainsFunc(views, func(v *view) bool {
		under := *v
		under.schedule = s
		return under.allows(snapshot)
	})
}

func (d deletion) protectedBy(s *v1alpha1.SnapshotSchedule, all editDelays, confirmed bool) string {
	own, record := ownDelay(s), s.Status.Retention
	now := d.at.Add(delaySlack)
	end := all[s.UID][s.ResourceVersion]
	switch {
	case confirmed: // which says nothing about what a new schedule finds
	case record == nil && own > 0, record != nil && record.Generation != s.Generation:
		return fmt.Sprintf("although status.retention has no record of generation %d", s.Generation)
	case now.Before(end):
		return fmt.Sprintf("%s before the end of the delay after the edit", end.Sub(d.at).Round(time.Second))
	}
	if d.snapshot.CreationTimestamp.Before(&s.CreationTimestamp) && now.Before(s.CreationTimestamp.Add(max(newFor, own))) {
		return "although it is older than its schedule, which is new"
	}
	return ""
}
