// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// flight is an inFlight with a limit of one, PVC data of a driver, and the keys that it
// enqueues.
type flight struct {
	*inFlight
	clock    *clocktesting.FakePassiveClock
	cached   map[reflect.Type]toolscache.Indexer
	enqueued []string
}

// testInFlight returns a gate whose engine has nothing but schedules in its cache.
func testInFlight(o Options, size int) *inFlight {
	f := newInFlight(o, size)
	f.engine.Parent = func(name types.NamespacedName) client.Object { return o.Stores.Get(anySchedule, name) }
	return f
}

func newFlight(limit int, cached ...client.Object) *flight {
	clock, stores := clocktesting.NewFakePassiveClock(noon), NewStores()
	f := &flight{inFlight: testInFlight(Options{Clock: clock, Stores: stores}, limit), clock: clock, cached: map[reflect.Type]toolscache.Indexer{}}
	for _, kind := range []client.Object{anyClaim, anySchedule, anySnapshot, anyClass} {
		store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
		f.cached[reflect.TypeOf(kind)] = store
		stores.Add(kind, store)
	}
	f.add(class("fast", testDriver))
	for _, o := range cached {
		f.add(o)
	}
	f.engine.Enqueue = func(req mapcontroller.Request, after time.Duration) {
		if after == 0 {
			f.enqueued = append(f.enqueued, req.MapKey)
		}
	}
	f.engine.Outputs = func(req mapcontroller.Request) (all []client.Object) {
		for _, o := range stores.List(anySnapshot, req.Parent.Namespace) {
			if o.GetLabels()[v1alpha1.LabelMapKey] == req.MapKey && o.GetLabels()[v1alpha1.LabelSchedule] == req.Parent.Name {
				all = append(all, o)
			}
		}
		return all
	}
	return f
}

// add makes the cache show an object.
func (f *flight) add(o client.Object) {
	if err := f.cached[reflect.TypeOf(o)].Add(o); err != nil {
		panic(err)
	}
}

// remove makes the cache show no such object.
func (f *flight) remove(o client.Object) {
	if err := f.cached[reflect.TypeOf(o)].Delete(o); err != nil {
		panic(err)
	}
}

// pass makes the part of a pass over PVC data that counts what the key has.
func (f *flight) pass(outputs ...client.Object) {
	f.allow(keyOf("data-uid"), nil, outputs)
}

// by makes a snapshot one that a schedule made of PVC data.
func (s snapshotBuilder) by(owner scheduleBuilder) snapshotBuilder {
	s.Labels = map[string]string{v1alpha1.LabelMapKey: "data-uid", v1alpha1.LabelSchedule: owner.Name}
	s.OwnerReferences = []metav1.OwnerReference{owner.ownerReference()}
	s.Name = snapshotName(owner.UID, "data-uid", "data", backup.SlotOf(s.VolumeSnapshot))
	return s
}

var backupOfShop = types.NamespacedName{Namespace: "shop", Name: "backup"}

func keyOf(mapKey string) mapcontroller.Request {
	return mapcontroller.Request{Parent: backupOfShop, MapKey: mapKey}
}

// ask makes the part of a pass that creates a snapshot of a name, for a key of that
// name.
func (f *flight) ask(name string) bool {
	want := mapcontroller.Desired{Object: uncut(0).named(name).VolumeSnapshot, Limit: testDriver, Since: noon}
	return f.allow(keyOf(name), []mapcontroller.Desired{want}, nil) == ""
}

func (f *flight) counts() (inFlight, waiting int) {
	for _, c := range f.limits.Counts(f.clock.Now()) {
		inFlight, waiting = inFlight+c.InFlight, waiting+c.Waiting
	}
	return inFlight, waiting
}

// Contract: FLIGHT-2, FLIGHT-4.
func TestObservedSnapshotsInFlight(t *testing.T) {
	data := claim("data").of(testDriver).PersistentVolumeClaim
	for name, tc := range map[string]struct {
		snapshot snapshotBuilder
		schedule scheduleBuilder
		claim    client.Object
		want     int
	}{
		"uncut":                            {snapshot: uncut(time.Minute), want: 1},
		"cut":                              {snapshot: uploading(time.Minute)},
		"ready":                            {snapshot: ready(time.Minute)},
		"imported":                         {snapshot: imported(time.Minute)},
		"being deleted":                    {snapshot: uncut(time.Minute).deleting()},
		"uncut for an hour":                {snapshot: uncut(time.Hour)},
		"uncut for less":                   {snapshot: uncut(time.Hour - time.Second), want: 1},
		"uncut for an hour, deadline 2h":   {snapshot: uncut(time.Hour), schedule: every("6h").readyDeadline("2h")},
		"uncut for the deadline":           {snapshot: uncut(10 * time.Minute), schedule: every("6h").readyDeadline("10m")},
		"uncut for less than the deadline": {snapshot: uncut(9 * time.Minute), schedule: every("6h").readyDeadline("10m"), want: 1},
		"of an unknown driver":             {snapshot: uncut(time.Minute), claim: claim("data").PersistentVolumeClaim, want: 1},
		"of a PVC that is gone":            {snapshot: uncut(time.Minute), claim: claim("other").of(testDriver).PersistentVolumeClaim},
		"uncut for less than a minute, deadline 1s": {snapshot: uncut(59 * time.Second), schedule: every("6h").readyDeadline("1s"), want: 1},
		"uncut for a minute, deadline 1s":           {snapshot: uncut(time.Minute), schedule: every("6h").readyDeadline("1s")},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.schedule.SnapshotSchedule == nil {
				tc.schedule = every("6h")
			}
			if tc.claim == nil {
				tc.claim = data
			}
			f := newFlight(1, tc.claim, tc.schedule.SnapshotSchedule)
			tc.snapshot = tc.snapshot.by(tc.schedule)
			f.event(backupOfShop, nil, tc.snapshot.VolumeSnapshot)
			if got, _ := f.counts(); got != tc.want {
				t.Fatalf("%d in flight, want %d", got, tc.want)
			}
			f.event(backupOfShop, tc.snapshot.VolumeSnapshot, nil)
			if got, _ := f.counts(); got != 0 {
				t.Errorf("%d in flight after it was deleted", got)
			}
		})
	}
}

// Only what the operator itself would have made counts.
//
// Contract: FLIGHT-6.
func TestSnapshotsThatOthersMadeAreNotInFlight(t *testing.T) {
	s := every("6h")
	orphaning := every("6h")
	orphaning.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
	mine := func() snapshotBuilder { return uncut(time.Minute).by(s) }
	unowned := func() snapshotBuilder { v := mine(); v.OwnerReferences = nil; return v }
	recreated := claim("data").of(testDriver)
	recreated.UID = "data-again-uid"
	controlledBy := func(uid types.UID) snapshotBuilder {
		v := mine()
		v.OwnerReferences[0].UID = uid
		return v
	}
	forgedKey := func() snapshotBuilder {
		v := mine()
		v.Labels[v1alpha1.LabelMapKey] = "other-uid"
		return v
	}
	for name, tc := range map[string]struct {
		snapshot snapshotBuilder
		schedule scheduleBuilder
		claim    claimBuilder
		want     int
	}{
		"the operator's":                        {snapshot: mine(), want: 1},
		"by labels":                             {snapshot: unowned(), schedule: orphaning, want: 1},
		"of a policy that does not own by them": {snapshot: unowned()},
		"another name":                          {snapshot: mine().named("by-hand")},
		"another slot":                          {snapshot: mine().scheduledAt(rfc3339(noon))},
		"no slot":                               {snapshot: mine().unscheduled()},
		"of a schedule that was created again":  {snapshot: controlledBy("old-uid")},
		"of another controller by labels":       {snapshot: controlledBy("other-uid"), schedule: orphaning},
		"of a PVC that was created again":       {snapshot: mine(), claim: recreated},
		"of another map key":                    {snapshot: forgedKey()},
		"of no schedule":                        {snapshot: mine(), schedule: every("6h").named("gone")},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.schedule.SnapshotSchedule == nil {
				tc.schedule = s
			}
			if tc.claim.PersistentVolumeClaim == nil {
				tc.claim = claim("data").of(testDriver)
			}
			f := newFlight(1, tc.claim.PersistentVolumeClaim, tc.schedule.SnapshotSchedule)
			f.event(backupOfShop, nil, tc.snapshot.VolumeSnapshot)
			if got, _ := f.counts(); got != tc.want {
				t.Errorf("%d in flight, want %d", got, tc.want)
			}
		})
	}
}

// A snapshot may be seen before its PVC, its schedule and its class, and these may change
// or be deleted later: whatever the order of events, the next pass counts as if they had
// always been there.
//
// Contract: FLIGHT-4.
func TestCountsDoNotDependOnTheOrderOfEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, slow := every("6h"), class("slow", "other.example.com")
		s.Spec.SnapshotTemplate.Spec.VolumeSnapshotClassName = &slow.Name
		v := uncut(time.Minute).by(s)
		v.Spec.VolumeSnapshotClassName = &slow.Name
		objects := []client.Object{s.SnapshotSchedule, slow, claim("data").PersistentVolumeClaim}
		f := newFlight(2)
		f.add(v.VolumeSnapshot)
		f.event(backupOfShop, nil, v.VolumeSnapshot)
		shown := map[int]bool{}
		for range rapid.IntRange(1, 10).Draw(t, "events") {
			i := rapid.IntRange(0, 2).Draw(t, "of")
			if shown[i] {
				f.remove(objects[i])
			} else {
				f.add(objects[i])
			}
			shown[i] = !shown[i]
			if i == 0 && !shown[i] {
				f.forget(backupOfShop)
			} else if shown[0] { // else there are no passes
				f.pass(v.VolumeSnapshot)
			}
			want := map[string]limits.Count{}
			switch {
			case shown[0] && shown[1] && shown[2]:
				want["other.example.com"] = limits.Count{InFlight: 1}
			case shown[0] && shown[2]:
				want[testDriver] = limits.Count{InFlight: 1} // the only driver of all classes
			}
			if got := f.limits.Counts(noon); !maps.Equal(got, want) {
				t.Fatalf("schedule, class, PVC are shown: %v; counts %v, want %v", shown, got, want)
			}
		}
	})
}

// Only drivers that classes name become labels.
//
// Contract: FLIGHT-5.
func TestLabelsOfDrivers(t *testing.T) {
	for name, tc := range map[string]struct {
		namespaced bool
		want       map[string]limits.Count
	}{
		"all namespaces": {want: map[string]limits.Count{
			testDriver: {InFlight: 1, Waiting: 1}, "idle.example.com": {}, metrics.OtherDrivers: {InFlight: 3},
		}},
		"classes unknown": {namespaced: true, want: map[string]limits.Count{metrics.OtherDrivers: {InFlight: 4, Waiting: 1}}},
	} {
		f := newFlight(1, class("idle", "idle.example.com"), class("malformed", "a b"))
		if tc.namespaced {
			f.classesKnown = false
			for _, o := range f.cached[reflect.TypeOf(anyClass)].List() {
				f.remove(o.(client.Object))
			}
		}
		for i, d := range []string{testDriver, testDriver, "", "made-up", "class-that-is-gone"} {
			f.limits.MayCreate(noon, limits.Create{
				Request: limits.Request(keyOf(fmt.Sprint(i))), Since: noon, Sizes: limits.Sizes{InFlight: 1},
				Snapshot: limits.Snapshot{Namespace: "shop", Name: fmt.Sprint(i), Limit: d, ReadyDeadline: time.Hour},
			})
		}
		if got := f.inFlight.counts(); !maps.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// A create that failed makes room for the next; one of which nothing is known does not.
//
// Contract: FLIGHT-1.
func TestTriedCreatesInFlight(t *testing.T) {
	notCreated := func(err error) mapcontroller.Outcome { return createFailures(err) }
	for name, tc := range map[string]struct {
		outcome mapcontroller.Outcome
		perhaps bool
		want    bool
	}{
		"created":        {outcome: mapcontroller.Outcome{Created: []client.Object{uncut(0).VolumeSnapshot}}},
		"exists already": {outcome: mapcontroller.Outcome{Unanswered: []client.Object{uncut(0).named("a").VolumeSnapshot}}},
		"denied":         {outcome: notCreated(forbidden("quota")), want: true},
		"name taken":     {outcome: notCreated(fmt.Errorf("%w: x", mapcontroller.ErrNameCollision)), want: true},
		"too many":       {outcome: notCreated(apierrors.NewTooManyRequests("later", 1)), want: true},
		"unavailable":    {outcome: notCreated(apierrors.NewServiceUnavailable("later")), want: true},
		"timed out":      {outcome: notCreated(errors.New("context deadline exceeded")), want: true},
		"another write":  {outcome: mapcontroller.Outcome{Failed: []mapcontroller.Failure{failure(mapcontroller.VerbDelete, forbidden("no"))}}},
		"perhaps":        {outcome: notCreated(apierrors.NewServiceUnavailable("later")), perhaps: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlight(1)
			if !f.ask("a") || f.ask("b") {
				t.Fatal("not one of two may be created")
			}
			for i := range tc.outcome.Failed {
				tc.outcome.Failed[i].Object = uncut(0).named("a").VolumeSnapshot
				if tc.perhaps {
					tc.outcome.Unanswered = append(tc.outcome.Unanswered, tc.outcome.Failed[i].Object)
				}
			}
			f.done("shop", tc.outcome)
			if got := slices.Equal(f.enqueued, []string{"b"}); got != tc.want {
				t.Errorf("enqueued %v", f.enqueued)
			}
			f.done("shop", mapcontroller.Outcome{Queued: string(limits.InFlight)})
			if inFlight, waiting := f.counts(); inFlight != 1 || (waiting == 0) != tc.want {
				t.Errorf("%d in flight, %d wait", inFlight, waiting)
			}
		})
	}
}

// A key that has nothing to create any more leaves the queue.
func TestKeysLeaveTheQueue(t *testing.T) {
	f := newFlight(1)
	f.ask("a")
	f.ask("b")
	if f.allow(keyOf("b"), nil, nil) != "" {
		t.Error("a plan without creates waits")
	}
	if _, waiting := f.counts(); waiting != 0 {
		t.Errorf("%d wait", waiting)
	}
}

// decidedPass decides about PVC data and reports that what is due waits, if
// it is queued, or is created.
func (r *testReporter) decidedPass(t *testing.T, s scheduleBuilder, now time.Time, queued bool, snapshots ...snapshotBuilder) *keyStatus {
	t.Helper()
	p, err := newProgram(s.SnapshotSchedule, origin{}, true)
	must(t, err)
	status := decider(p.mapKey).decision(mapcontroller.Observation{
		Now: now, Related: []client.Object{class("fast", testDriver)}, Selected: []client.Object{claim("data").of(testDriver).PersistentVolumeClaim}, Outputs: series(snapshots).objects(),
	}).Status.(*keyStatus)
	outcome := mapcontroller.Outcome{}
	if queued && status.waits() {
		outcome.Queued = string(limits.InFlight)
	}
	if status.waits() && !queued {
		outcome.Created = []client.Object{uncut(0).VolumeSnapshot}
	}
	after, _ := r.pass(s, "data-uid", status, outcome)
	return after
}

// Contract: FLIGHT-5.
func TestWaitingIsNoFailureUntilOverdue(t *testing.T) {
	type pass struct {
		at          time.Duration // after the slot at noon
		queued      bool
		wantWaits   bool
		wantOverdue string // a part of the message
	}
	for name, passes := range map[string][]pass{
		"created at once":     {{}},
		"waits":               {{queued: true, wantWaits: true}},
		"waits, then created": {{queued: true, wantWaits: true}, {at: time.Minute}},
		"waits too long": {
			{queued: true, wantWaits: true}, {at: 30 * time.Minute, wantOverdue: "became too old while it waited"},
			{at: 40 * time.Minute, wantOverdue: "became too old while it waited"},
		},
		"waits too long, then for the next slot": {
			{queued: true, wantWaits: true}, {at: 30 * time.Minute, wantOverdue: "became too old"},
			{at: time.Hour, queued: true, wantWaits: true, wantOverdue: "a whole slot: too many snapshots of driver " + testDriver},
		},
		"too old without waiting": {{at: 30 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestReporter()
			s, _ := measured(t, "waiting")
			s.Spec.SnapshotInterval, s.Spec.StartingDeadline = "1h", "30m"
			for i, p := range passes {
				got := r.decidedPass(t, s, noon.Add(p.at), p.queued, ready(time.Hour))
				if got.waits() != p.wantWaits {
					t.Errorf("pass %d: waits %v", i, got.waits())
				}
				if j := slices.IndexFunc(got.Problems, isOverdue); (j >= 0) != (p.wantOverdue != "") || j >= 0 && !strings.Contains(got.Problems[j].Message, p.wantOverdue) {
					t.Errorf("pass %d: problems %v, want %q", i, got.Problems, p.wantOverdue)
				}
			}
		})
	}
}

// A request that waits until it is too old is as lost as a slot that does.
//
// Contract: FLIGHT-5.
func TestRequestThatWaitedTooLongIsReported(t *testing.T) {
	for name, suspended := range map[string]bool{"suspended": true, "between two slots": false} {
		t.Run(name, func(t *testing.T) {
			r := newTestReporter()
			s, _ := measured(t, "waiting")
			s.Spec.SnapshotInterval, s.Spec.StartingDeadline, s.Spec.Suspend = "1h", "10m", suspended
			at := noon.Add(20 * time.Minute)
			s = s.requested(at.Format(time.RFC3339))
			if got := r.decidedPass(t, s, at, true, ready(20*time.Minute)); !got.waits() {
				t.Fatal("the request does not wait")
			}
			if got := r.decidedPass(t, s, at.Add(10*time.Minute), true, ready(20*time.Minute)); len(got.Problems) == 0 {
				t.Error("the request is lost, and nothing says so")
			}
		})
	}
}

// What its creates failed for stays in status while a PVC waits, without new events.
func TestWaitingKeepsFailedCreates(t *testing.T) {
	r := newTestReporter()
	s, _ := measured(t, "waiting")
	waiting := func() *keyStatus {
		return &keyStatus{Claim: "data", pending: &pendingSlot{slot: noon, driver: testDriver}}
	}
	denied := createFailures(forbidden("exceeded quota"))
	if status, reported := r.pass(s, "data-uid", waiting(), denied); len(status.Problems) != 1 || len(reported) == 0 || status.waits() {
		t.Fatalf("problems %v, events %v", status.Problems, reported)
	}
	for range 2 {
		status, reported := r.pass(s, "data-uid", waiting(), mapcontroller.Outcome{Queued: string(limits.InFlight)})
		if len(status.Problems) != 1 || status.Problems[0].Reason != v1alpha1.ReasonCreateFailed || len(reported) > 0 || !status.waits() {
			t.Errorf("while it waits: problems %v, events %v", status.Problems, reported)
		}
		if _, reported = r.pass(s, "data-uid", waiting(), denied); len(reported) > 0 {
			t.Errorf("failed again: events %v", reported)
		}
	}
}

// What creates failed for stays in status after their slot is too old, until there is a
// newer snapshot: nothing else says that there is none. So it is after a restart.
//
// Contract: STAT-5.
func TestSlotThatFailedUntilItWasTooOldIsReported(t *testing.T) {
	const data = "data-uid"
	hourly := func() scheduleBuilder {
		s, _ := measured(t, "failing")
		s.Spec.SnapshotInterval, s.Spec.StartingDeadline = "1h", "30m"
		return s
	}
	unbound, suspended, another := claim("data").of(testDriver), hourly().suspended(), hourly()
	unbound.Status.Phase = corev1.ClaimPending
	another.Generation++
	reported := hourly()
	reported.Status.Problems = []v1alpha1.Problem{{PersistentVolumeClaim: "data", Reason: v1alpha1.ReasonCreateFailed, Message: "exceeded quota"}}
	reported.Status.ObservedGeneration, another.Status = reported.Generation, reported.Status
	dropped := hourly()
	dropped.Status = *reported.Status.DeepCopy()
	dropped.Status.Problems[0].Reason, dropped.Status.Problems[0].Message = v1alpha1.ReasonSnapshotOverdue, droppedMessage+(&pendingSlot{driver: testDriver, why: limits.InFlight}).waitsFor()
	whole := hourly()
	whole.Status = *dropped.Status.DeepCopy()
	whole.Status.Problems[0].Message = overdueMessage
	for name, tc := range map[string]struct {
		schedule  scheduleBuilder
		restarted bool // the operator, after the creates failed
		claim     claimBuilder
		snapshot  time.Duration // the age at noon of the only one
		at        time.Duration // after noon
		outcome   mapcontroller.Outcome
		want      string
	}{
		"too old":                        {at: 30 * time.Minute, want: v1alpha1.ReasonCreateFailed},
		"the next slot waits":            {at: time.Hour, outcome: mapcontroller.Outcome{Queued: string(limits.InFlight)}, want: "CreateFailed SnapshotOverdue"},
		"the next slot is taken":         {at: time.Hour, outcome: mapcontroller.Outcome{Created: []client.Object{uncut(0).VolumeSnapshot}}},
		"a newer snapshot":               {at: 30 * time.Minute, snapshot: -time.Minute},
		"suspended":                      {at: 30 * time.Minute, schedule: suspended},
		"skipped":                        {at: 30 * time.Minute, claim: unbound},
		"restarted":                      {restarted: true, at: 30 * time.Minute, schedule: reported, want: v1alpha1.ReasonCreateFailed},
		"restarted, not reported before": {restarted: true, at: 30 * time.Minute},
		"restarted, another generation":  {restarted: true, at: 30 * time.Minute, schedule: another},
		"restarted, it waited":           {restarted: true, at: 30 * time.Minute, schedule: dropped, want: v1alpha1.ReasonSnapshotOverdue},
		"restarted, it was overdue":      {restarted: true, at: 30 * time.Minute, schedule: whole},
		"restarted, a newer snapshot":    {restarted: true, at: 30 * time.Minute, schedule: reported, snapshot: -time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestReporter()
			decide := func(s scheduleBuilder, c claimBuilder, now time.Time, age time.Duration) *keyStatus {
				p, err := newProgram(s.SnapshotSchedule, origin{}, true)
				must(t, err)
				return decider(p.mapKey).decision(mapcontroller.Observation{
					Now: now, Related: []client.Object{class("fast", testDriver)},
					Selected: []client.Object{c.PersistentVolumeClaim}, Outputs: series{ready(age)}.objects(),
				}).Status.(*keyStatus)
			}
			if tc.schedule.SnapshotSchedule == nil {
				tc.schedule = hourly()
			}
			if tc.claim.PersistentVolumeClaim == nil {
				tc.claim = claim("data").of(testDriver)
			}
			if !tc.restarted {
				before := decide(hourly(), claim("data").of(testDriver), noon, time.Hour)
				if failed, _ := r.pass(tc.schedule, data, before, createFailures(forbidden("exceeded quota"))); len(failed.Problems) == 0 {
					t.Fatal("the failure is not reported")
				}
			}
			if tc.snapshot == 0 {
				tc.snapshot = time.Hour
			}
			passes := 2 // the second one knows of the first
			if len(tc.outcome.Created) > 0 {
				passes = 1
			}
			for pass := range passes {
				got, events := r.pass(tc.schedule, data, decide(tc.schedule, tc.claim, noon.Add(tc.at), tc.snapshot), tc.outcome)
				var reasons []string
				for _, p := range got.Problems {
					reasons = append(reasons, p.Reason)
				}
				if found := strings.Join(reasons, " "); found != tc.want || len(events) > 0 {
					t.Errorf("pass %d: problems %q, want %q; events %v", pass, found, tc.want, events)
				}
			}
		})
	}
}

// Contract: FLIGHT-5.
func TestStatusCountsWaitingClaims(t *testing.T) {
	waits := func(d driver) *keyStatus { return &keyStatus{pending: &pendingSlot{driver: d}} }
	late := &keyStatus{pending: &pendingSlot{driver: "late", late: true}}
	for name, tc := range map[string]struct {
		keys []*keyStatus
		want string
	}{
		"none":              {[]*keyStatus{{}, late}, "3 PersistentVolumeClaims"},
		"one":               {[]*keyStatus{{}, waits("a")}, "3 PersistentVolumeClaims, 1 waiting (driver a)"},
		"an unknown driver": {[]*keyStatus{waits("")}, "3 PersistentVolumeClaims, 1 waiting (driver unknown)"},
		"two drivers":       {[]*keyStatus{waits("b"), waits("a"), waits("b")}, "3 PersistentVolumeClaims, 3 waiting (drivers a, b)"},
		"some skipped": {
			[]*keyStatus{waits("a"), {Claim: "x", SkipReason: "not Bound"}},
			"3 PersistentVolumeClaims, 1 waiting (driver a), 1 skipped: x: not Bound",
		},
	} {
		s := every("6h")
		summary := known(3, tc.keys...)
		setStatus(noon, s.SnapshotSchedule, summary)
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
		if c.Message != tc.want || c.Reason != v1alpha1.ReasonScheduled {
			t.Errorf("%s: %s: %q, want %q", name, c.Reason, c.Message, tc.want)
		}
	}
}
