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
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim"
)

// ClockPlan is a stretch of time to be lived through under a clock that is
// injected: the decision path in process, in a simulated world.
type ClockPlan struct {
	ID string
	// from and until are by the server's clock, which is right.
	from, until time.Time
	spec        v1alpha1.SnapshotScheduleSpec
	// at are what is done to clocks, in order.
	at []setting
	// slots are those that must be taken; nil: all of an interval, outside of
	// what is done to clocks.
	slots func(anchor, until time.Time) []slot
	// pauses: nothing may be deleted while the clocks are off, and status says so.
	pauses bool
}

// setting is what clocks are set to at a time.
type setting struct {
	at             time.Time
	operator, date time.Duration
}

// slot is one that is due at one of some times.
type slot []time.Time

// late is how much later than it is due a slot may be taken, and what has
// expired go.
const late = 30 * time.Minute

// RunClocks lives through the plans with the given ids, all if there are none;
// * stands for anything.
func RunClocks(ids []string, progress func(r Result, done, total int)) []Result {
	var results []Result
	all := ClockPlans()
	if len(ids) > 0 {
		all = slices.DeleteFunc(all, func(p ClockPlan) bool {
			return !slices.ContainsFunc(ids, func(id string) bool { return matches(id, p.ID) })
		})
	}
	for i, p := range all {
		began := time.Now()
		err := p.live()
		r := Result{ID: p.ID, Passed: err == nil, Took: time.Since(began)}
		if err != nil {
			r.Why = err.Error()
		}
		results = append(results, r)
		if progress != nil {
			progress(r, i+1, len(all))
		}
	}
	return results
}

// live plays a plan and judges it.
func (p ClockPlan) live() error {
	s := sim.NewStage(p.from)
	s.Claim("data")
	s.Create(&v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "every"}, Spec: p.spec})
	var errs []error
	for _, c := range p.at {
		s.RunUntil(c.at)
		if len(errs) == 0 && (c.operator == 0 && c.date == 0) && p.pauses {
			errs = append(errs, says(s, v1alpha1.ConditionRetentionPaused, v1alpha1.ReasonClockSkew))
		}
		s.SetClocks(c.operator, c.date)
	}
	s.RunUntil(p.until)
	errs = append(errs,
		says(s, v1alpha1.ConditionReady, v1alpha1.ReasonScheduled),
		says(s, v1alpha1.ConditionRetentionPaused, v1alpha1.ReasonRetentionRunning),
		p.taken(s),
	)
	for _, v := range oracle.Judge(s.History()) {
		errs = append(errs, fmt.Errorf("%s at %s: %s", v.Oracle, v.At.Format(time.RFC3339), v.Message))
	}
	if left := oracle.Left(s.Objects(), s.Now().Add(-late)); len(left) > 0 {
		errs = append(errs, fmt.Errorf("still there at the end: %s", strings.Join(left, ", ")))
	}
	return errors.Join(errs...)
}

func says(s *sim.Stage, condition, reason string) error {
	c := meta.FindStatusCondition(s.Schedule("every").Status.Conditions, condition)
	if c == nil || c.Reason != reason {
		return fmt.Errorf("condition %s is %+v at %s, want reason %s", condition, c, s.Now().Format(time.RFC3339), reason)
	}
	return nil
}

// taken: each slot that must be taken was, in time and once, and no other was. A
// clock that is ahead takes slots that are yet to come; by the contract they are
// served when they come, unless their snapshots have gone by then.
func (p ClockPlan) taken(s *sim.Stage) error {
	inTime, early := map[time.Time]int{}, map[time.Time]bool{}
	for _, c := range s.History().Changes {
		if v, ok := c.After.(*snapshotv1.VolumeSnapshot); ok && c.Before == nil {
			at := oracle.Slot(v).UTC()
			switch since := c.At.Sub(at); {
			case since < 0 && len(p.at) > 0:
				early[at] = true
			case since <= late || len(p.at) == 0:
				inTime[at]++
			}
		}
	}
	for _, due := range p.slots(p.from, p.until.Add(-late)) {
		n, ahead := 0, false
		for _, at := range due {
			n += inTime[at.UTC()]
			ahead = ahead || early[at.UTC()]
			delete(inTime, at.UTC())
		}
		if n > 1 || n == 0 && !ahead {
			return fmt.Errorf("the slot that is due at one of %v was taken %d times", due, n)
		}
	}
	for at := range inTime {
		if len(p.at) == 0 && at.Before(p.until.Add(-late)) {
			return fmt.Errorf("slot %s was taken, and there is none", at)
		}
	}
	return nil
}

// baseSpec has retention at work all the time.
func baseSpec() v1alpha1.SnapshotScheduleSpec {
	return v1alpha1.SnapshotScheduleSpec{
		SnapshotTTL: "10h", ReadyDeadline: "1h", DeletionPolicy: v1alpha1.DeletionDelete,
		Retention: v1alpha1.Retention{MinReady: ptr.To(int32(1)), Keep: v1alpha1.Keep{Hourly: 4, Daily: 3, Weekly: 1, Monthly: 2, Yearly: 1}},
	}
}
