// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// editing is a schedule that users edit while an operator, whose clock may be wrong,
// keeps its record.
type editing struct {
	scheduleBuilder

	now time.Time // the API server's clock
	// edited is when the generation came to be, and protected until when nothing may be
	// deleted: the delay of the spec, or the longer one of the record that there was.
	edited, protected time.Time
	// stale is the schedule as a cache that lags still shows it.
	stale *v1alpha1.SnapshotSchedule
}

var (
	someDelay  = rapid.SampledFrom([]v1alpha1.Duration{"", "", "1m", "1h", "1d"})
	wrongClock = rapid.SampledFrom([]time.Duration{0, 0, time.Second, -time.Minute, time.Minute, -day, day, 400 * day})
)

// edit changes the spec in any way.
func (e *editing) edit(d v1alpha1.Duration) {
	e.stale = e.DeepCopy()
	e.Generation++
	e.Spec.Retention.EditDelay = d
	e.edited = e.now
	longest := delay(d)
	if r := e.Status.Retention; r != nil {
		longest = max(longest, delay(r.EditDelay))
	}
	e.protected = e.now.Add(longest)
}

// operate does what the operator's status writer does. The API server's time is read in
// whole seconds, rounded up.
func (e *editing) operate(wrong time.Duration) {
	e.stale = e.DeepCopy()
	if recordsTime(e.now.Add(wrong), e.SnapshotSchedule, origin{}) {
		e.Status.Retention = recordOf(e.SnapshotSchedule, origin{}, e.now.Truncate(time.Second).Add(time.Second))
	}
	if confirmsItself(e.SnapshotSchedule) {
		e.protected = e.edited.Add(delay(e.Spec.Retention.EditDelay)) // should the confirmation be taken back
	}
}

// deletes returns whether an expired snapshot would be deleted by an operator whose clock
// is ahead, within what the guards allow: it decides on its cache and once more on the
// schedule as it is read live. The guards know how far it is ahead but for a second.
func (e *editing) deletes(t *rapid.T, cached *v1alpha1.SnapshotSchedule, ahead time.Duration) bool {
	if cached.Generation != e.Generation {
		return false
	}
	for i, s := range []*v1alpha1.SnapshotSchedule{cached, e.SnapshotSchedule} {
		m := mapCase{gone: true, schedule: scheduleBuilder{s}, snapshots: series{ready(day).created(e.now.Add(-2 * 400 * day))}}
		seen := m.observe()
		seen.Now = e.now.Add(ahead)
		if i == 1 {
			seen.Ahead = max(0, ahead-time.Second)
		}
		decide := m.decider(t)
		if len(decide(seen).Delete) == 0 {
			return false
		}
	}
	return true
}

// Whatever is edited, lost or confirmed, in any order and under any clock: nothing is
// deleted that the delay protects, and once it has passed, everything is.
//
// Contract: EDIT-1, EDIT-2, EDIT-3.
func TestEditsProtect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &editing{scheduleBuilder: every("6h").suspended().ttl("1s").created(ago(1000 * day)).generation(1), now: noon}
		e.edit(someDelay.Draw(t, "first delay"))
		e.operate(0)
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			e.now = e.now.Add(rapid.SampledFrom([]time.Duration{0, 300 * time.Millisecond, time.Second, 59 * time.Second, 59 * time.Minute,
				time.Hour, day}).Draw(t, "passes"))
			switch rapid.SampledFrom([]string{"edit", "apply", "operate", "operate", "wipe", "confirm", "confirm older"}).Draw(t, "step") {
			case "edit":
				e.edit(someDelay.Draw(t, "delay"))
			case "apply": // without a change, as GitOps tools do it: nothing happens
			case "operate":
				e.operate(wrongClock.Draw(t, "wrong"))
			case "wipe":
				if delay(e.Spec.Retention.EditDelay) == 0 {
					break // then no record protects anything
				}
				e.stale, e.Status.Retention = e.DeepCopy(), nil
				e.protected = e.now.Add(delay(e.Spec.Retention.EditDelay))
			case "confirm":
				annotate(e, v1alpha1.AnnotationConfirmGeneration, strconv.FormatInt(e.Generation, 10))
			case "confirm older":
				annotate(e, v1alpha1.AnnotationConfirmGeneration, strconv.FormatInt(e.Generation-1, 10))
			}
			ahead := rapid.SampledFrom([]time.Duration{0, 0, time.Second, 20 * time.Second, time.Minute}).Draw(t, "ahead")
			for _, cached := range []*v1alpha1.SnapshotSchedule{e.SnapshotSchedule, e.stale} {
				if e.deletes(t, cached, ahead) && !confirmsItself(e.SnapshotSchedule) && e.now.Before(e.protected.Add(-time.Second)) {
					t.Fatalf("deleted %s after the edit, protected for %s; record %s", e.now.Sub(e.edited), e.protected.Sub(e.edited),
						toJSON(e.Status.Retention))
				}
			}
		}
		e.operate(0)
		if r := e.Status.Retention; r != nil {
			e.now = r.SinceTime.Add(delay(r.EditDelay))
		}
		if !e.deletes(t, e.SnapshotSchedule, 0) {
			t.Fatalf("nothing is deleted after the delay: record %s", toJSON(e.Status.Retention))
		}
		e.operate(0)
		if r := e.Status.Retention; (r == nil) != (e.Spec.Retention.EditDelay == "") || r != nil && r.EditDelay != e.Spec.Retention.EditDelay {
			t.Fatalf("the record %s does not take the spec's delay %q", toJSON(r), e.Spec.Retention.EditDelay)
		}
	})
}

// A schedule decides about snapshots of before its creation as about any others, but not
// in its first hour, unless its generation is confirmed.
//
// Contract: EDIT-4.
func TestNamesUsedAgainProtect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := every("6h").suspended().ttl("1s").generation(1).editDelay(someDelay.Draw(t, "delay"))
		s.Status.Retention = recordOf(s.SnapshotSchedule, origin{}, s.CreationTimestamp.Time)
		age := time.Duration(rapid.IntRange(0, int(2*day/time.Second)).Draw(t, "seconds")) * time.Second
		older := rapid.Bool().Draw(t, "older")
		m := mapCase{gone: true, schedule: s, snapshots: series{ready(0).created(s.CreationTimestamp.Add(-day))}}
		if !older {
			m.snapshots[0].CreationTimestamp = metav1.NewTime(s.CreationTimestamp.Time)
			m.snapshots[0].Status.CreationTime = nil
			m.snapshots[0].cut(s.CreationTimestamp.Time)
		}
		seen := m.observe()
		seen.Now = s.CreationTimestamp.Add(age)
		own := delay(s.Spec.Retention.EditDelay)
		want := age >= own && age >= time.Second
		if older {
			want = age >= max(time.Hour, own)
		}
		if got := len(m.decider(t)(seen).Delete) > 0; got != want {
			t.Fatalf("deletes: %v, want %v", got, want)
		}
		annotate(s, v1alpha1.AnnotationConfirmGeneration, "1")
		if got, want := len(m.decider(t)(seen).Delete) > 0, older || age >= time.Second; got != want {
			t.Fatalf("confirmed, it deletes: %v, want %v", got, want)
		}
	})
}
