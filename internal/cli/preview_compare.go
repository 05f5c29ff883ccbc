// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

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
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// preview is what a change of a schedule would do.
type preview struct {
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	Change    change        `json:"change"`
	Present   string        `json:"presentPolicy,omitempty"`
	Future    string        `json:"futurePolicy,omitempty"`
	Fields    []fieldChange `json:"fields,omitempty"`
	Until     metav1.Time   `json:"until"`
	Claims    []claimChange `json:"persistentVolumeClaims"`
	Deletes   []deletion    `json:"deletes"`
	// Waiting are the snapshots that would be deleted now, but for a delay.
	Waiting  []waiting    `json:"waiting,omitempty"`
	Steady   *steadyState `json:"steadyState,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
	// Incomplete is set if a simulation ended early, because it would take too long.
	Incomplete bool `json:"incomplete,omitempty"`
	// TakenNow is how many snapshots would be taken at once that the present spec does not take, and latestSlot the latest slot
	// that they are for.
	TakenNow   int `json:"takenNow,omitempty"`
	latestSlot time.Time
	// misfits says what the storage has no place for, with the number of PVCs.
	misfits map[string]int
}

// waiting is a number of snapshots that are kept for now.
type waiting struct {
	Snapshots int    `json:"snapshots"`
	Reason    string `json:"reason"`
	// Until is not set if the spec is not that of the ClusterSnapshotSchedule's template.
	Until *metav1.Time `json:"until,omitempty"`
	// confirmation says how to have them deleted at once; empty if nothing does.
	confirmation string
}

// change is the kind of change.
type change string

const (
	unchanged change = "Unchanged"
	edited    change = "Edited"
	created   change = "Created"
	deleted   change = "Deleted"
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

// deletion is the end of a snapshot that exists now.
type deletion struct {
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
	// resource is that of the snapshot, or group snapshot.
	resource string
}

const (
	relationNone = "None"
	// reasonGarbage is the reason of deletes that come with the schedule's own.
	reasonGarbage = "GarbageCollected"
)

// variants are a schedule before and after a change; nil if it does not exist.
type variants struct {
	present, future *v1alpha1.SnapshotSchedule
	// before and after are the origins of the two, which differ if the change is of a
	// ClusterSnapshotSchedule.
	before, after []client.Object
	// fields are those that a manifest changes.
	fields []fieldChange
	// steady is the steady state of the future one; nil if nobody wants to know.
	steady *steadyState
	// work bounds the simulation of each series; zero: maxWork.
	work int
}

func (v variants) change() change {
	switch {
	case v.future == nil:
		return deleted
	case v.present == nil:
		return created
	case v.present == v.future:
		return unchanged
	}
	return edited
}

// recorded returns the schedules with the record that the operator gives them. The origin is
// that of both, unless they have their own.
func (v variants) recorded(now time.Time, origin []client.Object) variants {
	if v.after == nil {
		v.before, v.after = origin, origin
	}
	record := func(s *v1alpha1.SnapshotSchedule, origin []client.Object) *v1alpha1.SnapshotSchedule {
		if s == nil {
			return nil
		}
		return snapshots.Recorded(s, now, origin...)
	}
	r := v
	r.present, r.future = record(v.present, v.before), record(v.future, v.after)
	if v.change() == unchanged {
		r.future = r.present
	}
	return r
}

// policies returns the policy of each in words.
func (v variants) policies() (present, future string) {
	if v.present != nil {
		present = policyWords(&v.present.Spec)
	}
	if v.future != nil {
		future = policyWords(&v.future.Spec)
	}
	return present, future
}

// judges returns a judge for each.
func (v variants) judges(inv *inventory) (present, future *snapshots.Judge, err error) {
	if v.present != nil {
		// Under an invalid spec nothing is deleted, as without a schedule.
		present, _ = snapshots.NewJudge(term.Scheme, v.present, inv.classes, v.before...)
	}
	if v.future != nil {
		future, err = snapshots.NewJudge(term.Scheme, v.future, inv.classes, v.after...)
	}
	if s := v.steady; s != nil && !s.Unlimited && !s.Estimated { // one number, of the steady state and of what has no place
		for _, judge := range []*snapshots.Judge{present, future} { // nil: its spec is invalid
			if judge != nil && (judge == future || v.change() == unchanged) {
				judge.Keeps(s.Snapshots)
			}
		}
	}
	return present, future, err
}

// previewOf compares the lives of all series before and after a change.
func previewOf(v variants, inv *inventory, now, until time.Time) (*preview, error) {
	present, future, err := v.judges(inv)
	if err != nil {
		return nil, err
	}
	named := cmp.Or(v.present, v.future)
	p := &preview{
		Namespace: named.Namespace, Name: named.Name, Change: v.change(), Until: *term.TimeOf(until), Claims: []claimChange{}, Deletes: []deletion{},
		misfits: map[string]int{}, Fields: v.fields, Steady: v.steady,
	}
	p.Present, p.Future = v.policies()
	if v.future != nil {
		inv.mayHaveGroups(v.future)
	}
	all := inv.seriesOf(named, present, future)
	results := make([]seriesPreview, len(all))
	var group errgroup.Group
	workers := min(runtime.GOMAXPROCS(0), max(len(all), 1))
	for w := range workers {
		group.Go(func() error {
			present, future, err := v.judges(inv) // a judge serves one goroutine
			for i := w; i < len(all) && err == nil; i += workers {
				results[i] = previewSeries(v, present, future, all[i], now, until)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	spared := p.add(all, results)
	for _, reason := range slices.Sorted(maps.Keys(spared)) {
		p.Waiting = append(p.Waiting, waiting{spared[reason], reason, term.TimeOf(future.SparedUntil(reason)), future.Confirmation(reason)})
	}
	slices.SortStableFunc(p.Deletes, func(a, b deletion) int {
		return cmp.Or(a.Time.Compare(b.Time.Time), cmp.Compare(a.Name, b.Name))
	})
	return p, nil
}

// add adds what was found out about each series. It returns how many snapshots are kept for now, by reason.
func (p *preview) add(all []*series, results []seriesPreview) (spared map[string]int) {
	spared = map[string]int{}
	kept := make([]*series, 0, len(all))
	for i := range results {
		r := &results[i]
		if r.claim.Snapshots == 0 && r.claim.Before != stateSelected && r.claim.After != stateSelected {
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
		for reason, n := range r.spared {
			spared[reason] += n
		}
		for _, misfit := range r.misfits {
			p.misfits[misfit]++
		}
	}
	p.addUnselected(kept)
	return spared
}

type seriesPreview struct {
	claim      claimChange
	spared     map[string]int
	misfits    []string
	deletes    []deletion
	incomplete bool
	// takes is the slot for which a snapshot is taken at once, and would not be under the present spec.
	takes time.Time
}

func previewSeries(v variants, present, future *snapshots.Judge, of *series, now, until time.Time) seriesPreview {
	before := fatesOf(present, of, now, until, v.work)
	after := before
	switch v.change() {
	case deleted:
		after = garbage(v.present, of, now)
	case edited, created:
		after = fatesOf(future, of, now, until, v.work)
	}
	relation := func(judge *snapshots.Judge) string {
		if judge == nil {
			return relationNone
		}
		return of.state(judge)
	}
	r := seriesPreview{incomplete: before.incomplete || after.incomplete, spared: after.spared, misfits: after.misfits, claim: claimChange{
		Name: of.name(), MapKey: of.mapKey, Before: relation(present), After: relation(future),
		Snapshots: max(before.counted, after.counted), Within: len(after.ends), Otherwise: len(before.ends), Stops: after.stops,
	}}
	if before.takes.IsZero() {
		r.takes = after.takes
	}
	for name, end := range after.ends {
		d := deletion{Name: name, Claim: r.claim.Name, Time: *term.TimeOf(end.at), Now: !end.at.After(now), Reason: end.reason, Sooner: true}
		if d.resource = term.SnapshotResource; of.isGroup() {
			d.resource = term.GroupResource
		}
		if otherwise, ok := before.ends[name]; ok {
			d.PresentTime, d.Sooner = term.TimeOf(otherwise.at), end.at.Before(otherwise.at)
		}
		if d.Now {
			r.claim.Now++
		}
		r.deletes = append(r.deletes, d)
	}
	return r
}

// leftBehind returns how many snapshots a switch to groups or back, or to groups by another label, detaches.
func (p *preview) leftBehind(v variants) (n int) {
	if v.present == nil {
		return 0
	}
	before, after := v.present.Spec.Group, v.future.Spec.Group
	if (before == nil) == (after == nil) && ptr.Deref(before, v1alpha1.Group{}).ByLabel == ptr.Deref(after, v1alpha1.Group{}).ByLabel {
		return 0
	}
	for _, c := range p.Claims {
		if c.Before == stateSelected && c.After != stateSelected {
			n += c.Snapshots
		}
	}
	return n
}
