// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim"
)

// ClockPlan simulates a period with an injected clock, in process.
type ClockPlan struct {
	ID string
	// from and until are times of the server's clock, which is right.
	from, until time.Time
	spec        v1alpha1.SnapshotScheduleSpec
	// changes are the changes of clocks, in order.
	changes []clockChange
	// slots returns the slots that must be taken.
	slots func(anchor, until time.Time) []slot
	// pauses is set if status must report that retention is paused while the clocks
	// are wrong.
	pauses bool
}

// clockChange sets the offsets of clocks at a time.
type clockChange struct {
	at             time.Time
	operator, date time.Duration
}

// slot is due at one of these times.
type slot []time.Time

// tolerance is how late a slot may be taken, or an expired snapshot deleted.
const tolerance = 30 * time.Minute

// RunClocks runs the clock plans that match the IDs, or all without IDs. progress is
// called after each.
func RunClocks(ids []string, progress func(r Result, done, total int)) []Result {
	var results []Result
	plans := slices.DeleteFunc(ClockPlans(), func(p ClockPlan) bool { return !plan.Matches(ids, p.ID) })
	for i, p := range plans {
		began := time.Now()
		err := p.simulate()
		results = append(results, Result{ID: p.ID, Err: err, Took: time.Since(began)})
		progress(results[i], i+1, len(plans))
	}
	return results
}

func (p ClockPlan) simulate() error {
	s := sim.NewEnvironment(p.from)
	s.Claim("data")
	s.Create(&v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "every"}, Spec: p.spec})
	var errs []error
	for _, c := range p.changes {
		s.RunUntil(c.at)
		if len(errs) == 0 && (c.operator == 0 && c.date == 0) && p.pauses {
			errs = append(errs, hasReason(s, v1alpha1.ConditionRetentionPaused, v1alpha1.ReasonClockSkew))
		}
		s.SetClocks(c.operator, c.date)
	}
	s.RunUntil(p.until)
	errs = append(errs,
		hasReason(s, v1alpha1.ConditionReady, v1alpha1.ReasonScheduled),
		hasReason(s, v1alpha1.ConditionRetentionPaused, v1alpha1.ReasonRetentionRunning),
		p.tookSlots(s),
	)
	for _, v := range oracle.Judge(s.History()) {
		errs = append(errs, fmt.Errorf("%s at %s: %s", v.Oracle, v.At.Format(time.RFC3339), v.Message))
	}
	if left := oracle.Overdue(s.Objects(), s.Now().Add(-tolerance)); len(left) > 0 {
		errs = append(errs, fmt.Errorf("not deleted at the end: %s", strings.Join(left, ", ")))
	}
	return errors.Join(errs...)
}

func hasReason(s *sim.Environment, condition, reason string) error {
	c := meta.FindStatusCondition(s.Schedule("every").Status.Conditions, condition)
	if c == nil || c.Reason != reason {
		return fmt.Errorf("condition %s is %+v at %s, want reason %s", condition, c, s.Now().Format(time.RFC3339), reason)
	}
	return nil
}

// tookSlots fails unless each slot was taken once and in time, and no other was. A
// clock that is ahead takes slots of the future; by the contract they have their
// snapshots when they fall due, unless those are deleted by then.
func (p ClockPlan) tookSlots(s *sim.Environment) error {
	inTime, early := map[time.Time]int{}, map[time.Time]bool{}
	for _, c := range s.History().Changes {
		if v, ok := c.After.(*snapshotv1.VolumeSnapshot); ok && c.Before == nil {
			at := oracle.Slot(v).UTC()
			switch since := c.At.Sub(at); {
			case since < 0 && len(p.changes) > 0:
				early[at] = true
			case since <= tolerance || len(p.changes) == 0:
				inTime[at]++
			}
		}
	}
	for _, due := range p.slots(p.from, p.until.Add(-tolerance)) {
		n, ahead := 0, false
		for _, at := range due {
			n += inTime[at.UTC()]
			ahead = ahead || early[at.UTC()]
			delete(inTime, at.UTC())
		}
		if n > 1 || n == 0 && !ahead {
			return fmt.Errorf("the slot due at one of %v was taken %d times", due, n)
		}
	}
	for at := range inTime {
		if len(p.changes) == 0 && at.Before(p.until.Add(-tolerance)) {
			return fmt.Errorf("slot %s was taken, but does not exist", at)
		}
	}
	return nil
}

// baseSpec makes retention delete snapshots all the time.
func baseSpec() v1alpha1.SnapshotScheduleSpec {
	return v1alpha1.SnapshotScheduleSpec{
		SnapshotTTL: "10h", ReadyDeadline: "1h", DeletionPolicy: v1alpha1.DeletionDelete,
		Retention: v1alpha1.Retention{MinReady: ptr.To(int32(1)), Keep: v1alpha1.Keep{Hourly: 4, Daily: 3, Weekly: 1, Monthly: 2, Yearly: 1}},
	}
}
