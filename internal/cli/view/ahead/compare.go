// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package ahead

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Preview is what a change of a schedule would do.
type Preview struct {
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	Change    Change        `json:"change"`
	Present   string        `json:"presentPolicy,omitempty"`
	Future    string        `json:"futurePolicy,omitempty"`
	Fields    []FieldChange `json:"fields,omitempty"`
	Until     metav1.Time   `json:"until"`
	Claims    []claimChange `json:"persistentVolumeClaims"`
	Deletes   []Deletion    `json:"deletes"`
	// Waiting are the snapshots that would be deleted now, but for a delay.
	Waiting  []waiting    `json:"waiting,omitempty"`
	Steady   *SteadyState `json:"steadyState,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
	// Incomplete is set if a simulation ended early, because it would take too long.
	Incomplete bool `json:"incomplete,omitempty"`
	// TakenNow is how many snapshots would be taken at once that the present spec does not take, and latestSlot the latest slot
	// that they are for.
	TakenNow   int `json:"takenNow,omitempty"`
	latestSlot time.Time
	// Misfits says what the storage has no place for, with the number of PVCs.
	Misfits map[string]int `json:"-"`
}

// waiting is a number of snapshots that are kept for now.
type waiting struct {
	Snapshots int    `json:"snapshots"`
	Reason    string `json:"reason"`
	// Until is not set if the spec differs from the ClusterSnapshotSchedule's template.
	Until *metav1.Time `json:"until,omitempty"`
	// Confirmation says how to have them deleted at once; empty if nothing does.
	Confirmation string `json:"-"`
}

// Change is the kind of change.
type Change string

// The kinds of changes.
const (
	Unchanged Change = "Unchanged"
	Edited    Change = "Edited"
	Created   Change = "Created"
	Deleted   Change = "Deleted"
)

// claimChange is what happens to the snapshots of one PVC that exist now.
type claimChange struct {
	Name   string `json:"name"`
	MapKey string `json:"mapKey"`
	// Before and After are the relations of the PVC to the schedule.
	Before    string `json:"before"`
	After     string `json:"after"`
	Snapshots int    `json:"snapshots"`
	Now       int    `json:"deletedNow"`
	Within    int    `json:"deletedWithin"`
	// Otherwise is how many would be deleted within the time under the present spec.
	Otherwise int `json:"deletedWithinAtPresent"`
	// Stops says why no snapshots would be taken; empty if they would be.
	Stops string `json:"stops,omitempty"`
}

// Deletion is the end of a snapshot that exists now.
type Deletion struct {
	Name   string      `json:"name"`
	Claim  string      `json:"persistentVolumeClaim"`
	Time   metav1.Time `json:"time"`
	Now    bool        `json:"now"`
	Reason string      `json:"reason"`
	// PresentTime is when it would be deleted under the present spec; absent: not
	// within the time.
	PresentTime *metav1.Time `json:"presentTime,omitempty"`
	// Sooner is set if the present spec would keep it longer.
	Sooner bool `json:"sooner"`
	// Resource is that of the snapshot, or group snapshot.
	Resource string `json:"-"`
}

const (
	relationNone = "None"
	// reasonGarbage is the reason of deletes that come with the schedule's own.
	reasonGarbage = "GarbageCollected"
)

// Variants are a schedule before and after a change; nil if it does not exist.
type Variants struct {
	Present, Future *v1alpha1.SnapshotSchedule
	// Before and after are the origins of the two, which differ if the change is of a
	// ClusterSnapshotSchedule.
	Before, After []client.Object
	// Fields are those that a manifest changes.
	Fields []FieldChange
	// Steady is the steady state of the future one; nil if nobody wants to know.
	Steady *SteadyState
	// Work bounds the simulation of each series; zero: maxWork.
	Work int
}

// Change returns what becomes of the schedule.
func (v Variants) Change() Change {
	switch {
	case v.Future == nil:
		return Deleted
	case v.Present == nil:
		return Created
	case v.Present == v.Future:
		return Unchanged
	}
	return Edited
}

// Recorded returns the schedules with the record that the operator gives them. The origin is
// that of both, unless they have their own.
func (v Variants) Recorded(now time.Time, origin []client.Object) Variants {
	if v.After == nil {
		v.Before, v.After = origin, origin
	}
	record := func(s *v1alpha1.SnapshotSchedule, origin []client.Object) *v1alpha1.SnapshotSchedule {
		if s == nil {
			return nil
		}
		return snapshots.Recorded(s, now, origin...)
	}
	r := v
	r.Present, r.Future = record(v.Present, v.Before), record(v.Future, v.After)
	if v.Change() == Unchanged {
		r.Future = r.Present
	}
	return r
}

// policies returns the policy of each in words.
func (v Variants) policies() (present, future string) {
	if v.Present != nil {
		present = view.PolicyWords(&v.Present.Spec)
	}
	if v.Future != nil {
		future = view.PolicyWords(&v.Future.Spec)
	}
	return present, future
}

// judges returns a judge for each.
func (v Variants) judges(inv *view.Inventory) (present, future *snapshots.Judge, err error) {
	if v.Present != nil {
		// Under an invalid spec nothing is deleted, as without a schedule.
		present, _ = snapshots.NewJudge(term.Scheme, v.Present, inv.Classes, v.Before...)
	}
	if v.Future != nil {
		future, err = snapshots.NewJudge(term.Scheme, v.Future, inv.Classes, v.After...)
	}
	if s := v.Steady; s != nil && !s.Unlimited && !s.Estimated { // one number, of the steady state and of what has no place
		for _, judge := range []*snapshots.Judge{present, future} { // nil: its spec is invalid
			if judge != nil && (judge == future || v.Change() == Unchanged) {
				judge.Keeps(s.Snapshots)
			}
		}
	}
	return present, future, err
}

// PreviewOf compares the lives of all series before and after a change.
func PreviewOf(v Variants, inv *view.Inventory, now, until time.Time) (*Preview, error) {
	present, future, err := v.judges(inv)
	if err != nil {
		return nil, err
	}
	named := cmp.Or(v.Present, v.Future)
	p := &Preview{
		Namespace: named.Namespace, Name: named.Name, Change: v.Change(), Until: *term.TimeOf(until),
		Claims: []claimChange{}, Deletes: []Deletion{}, Misfits: map[string]int{}, Fields: v.Fields, Steady: v.Steady,
	}
	p.Present, p.Future = v.policies()
	if v.Future != nil {
		inv.MayHaveGroups(v.Future)
	}
	all := inv.SeriesOf(named, present, future)
	results := make([]seriesPreview, len(all))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, of := range all {
		group.Go(func() error {
			results[i] = previewSeries(v, present, future, of, now, until)
			return nil
		})
	}
	_ = group.Wait()
	delayed := p.add(all, results)
	for _, reason := range slices.Sorted(maps.Keys(delayed)) {
		p.Waiting = append(p.Waiting, waiting{delayed[reason], reason, term.TimeOf(future.KeptUntil(reason)), future.Confirmation(reason)})
	}
	slices.SortStableFunc(p.Deletes, func(a, b Deletion) int {
		return cmp.Or(a.Time.Compare(b.Time.Time), cmp.Compare(a.Name, b.Name))
	})
	return p, nil
}

// add adds what was found out about each series. It returns how many snapshots are kept for now, by reason.
func (p *Preview) add(all []*view.Series, results []seriesPreview) (delayed map[string]int) {
	delayed = map[string]int{}
	kept := make([]*view.Series, 0, len(all))
	for i := range results {
		r := &results[i]
		if r.claim.Snapshots == 0 && r.claim.Before != view.StateSelected && r.claim.After != view.StateSelected {
			continue // the snapshots are another owner's
		}
		p.Claims, kept = append(p.Claims, r.claim), append(kept, all[i])
		if !r.takes.IsZero() {
			p.TakenNow++
		}
		if r.takes.After(p.latestSlot) {
			p.latestSlot = r.takes
		}
		p.Deletes = append(p.Deletes, r.deletes...)
		p.Incomplete = p.Incomplete || r.incomplete
		for reason, n := range r.delayed {
			delayed[reason] += n
		}
		for _, misfit := range r.misfits {
			p.Misfits[misfit]++
		}
	}
	p.addUnselected(kept)
	return delayed
}

type seriesPreview struct {
	claim      claimChange
	delayed    map[string]int
	misfits    []string
	deletes    []Deletion
	incomplete bool
	// takes is the slot for which a snapshot is taken at once, and would not be under the present spec.
	takes time.Time
}

func previewSeries(v Variants, present, future *snapshots.Judge, of *view.Series, now, until time.Time) seriesPreview {
	before := ForecastOf(present, of, now, until, v.Work)
	after := before
	switch v.Change() {
	case Deleted:
		after = garbage(v.Present, of, now)
	case Edited, Created:
		after = ForecastOf(future, of, now, until, v.Work)
	}
	relation := func(judge *snapshots.Judge) string {
		if judge == nil {
			return relationNone
		}
		return of.State(judge)
	}
	r := seriesPreview{incomplete: before.Incomplete || after.Incomplete, delayed: after.delayed, misfits: after.misfits, claim: claimChange{
		Name: of.Name(), MapKey: of.MapKey, Before: relation(present), After: relation(future),
		Snapshots: max(before.counted, after.counted), Within: len(after.Ends), Otherwise: len(before.Ends), Stops: after.stops,
	}}
	if before.takes.IsZero() {
		r.takes = after.takes
	}
	for name, end := range after.Ends {
		d := Deletion{Name: name, Claim: r.claim.Name, Time: *term.TimeOf(end.At), Now: !end.At.After(now), Reason: end.reason, Sooner: true}
		if d.Resource = term.SnapshotResource; of.IsGroup() {
			d.Resource = term.GroupResource
		}
		if otherwise, ok := before.Ends[name]; ok {
			d.PresentTime, d.Sooner = term.TimeOf(otherwise.At), end.At.Before(otherwise.At)
		}
		if d.Now {
			r.claim.Now++
		}
		r.deletes = append(r.deletes, d)
	}
	return r
}

// LeftBehind returns how many snapshots a switch to groups or back, or to groups by another label, detaches.
func (p *Preview) LeftBehind(v Variants) (n int) {
	if v.Present == nil {
		return 0
	}
	before, after := v.Present.Spec.Group, v.Future.Spec.Group
	if (before == nil) == (after == nil) && ptr.Deref(before, v1alpha1.Group{}).ByLabel == ptr.Deref(after, v1alpha1.Group{}).ByLabel {
		return 0
	}
	for _, c := range p.Claims {
		if c.Before == view.StateSelected && c.After != view.StateSelected {
			n += c.Snapshots
		}
	}
	return n
}

// FieldChange is a field of the spec that a manifest changes. A value is JSON; empty if the field is not set.
type FieldChange struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}
