// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// operator plans as the operator does: its Compile, its kinds, and objects as its
// cache holds them.
type operator struct {
	t        *rapid.T
	schedule *v1alpha1.SnapshotSchedule
	planner  *mapcontroller.Planner
	cached   func(client.Object) client.Object
}

func newOperator(t *rapid.T, s *v1alpha1.SnapshotSchedule) *operator {
	compiled, err := snapshots.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	c := snapshots.MapController(snapshots.Options{Stores: snapshots.NewStores()}, nil, 0)
	planner, err := c.Planner(term.Scheme, s, compiled)
	if err != nil {
		t.Fatal(err)
	}
	byKind := snapshots.CacheOptions(snapshots.NewStores()).ByObject
	return &operator{t: t, schedule: s, planner: planner, cached: func(o client.Object) client.Object {
		for kind, options := range byKind {
			if reflect.TypeOf(kind) == reflect.TypeOf(o) {
				stripped, err := options.Transform(o.DeepCopyObject())
				if err != nil {
					t.Fatal(err)
				}
				return stripped.(client.Object)
			}
		}
		t.Fatalf("%T is not cached", o)
		return nil
	}}
}

// plan returns the plan of one pass.
func (op *operator) plan(now time.Time, of *series) mapcontroller.Plan {
	seen := mapcontroller.Observation{Now: now, MapKey: of.mapKey}
	if of.claim != nil {
		seen.Selected, seen.Unselected = op.planner.Partition(of.mapKey, op.cached(of.claim))
	}
	for _, o := range of.snapshots {
		seen.Outputs = append(seen.Outputs, op.cached(o))
	}
	for _, o := range of.restores {
		seen.Related = append(seen.Related, op.cached(o))
	}
	return op.planner.Plan(seen)
}

// deletes returns the name and the reason of each delete.
func deletes(removals []mapcontroller.Removal) []string {
	names := []string{}
	for _, r := range removals {
		names = append(names, r.Object.GetName()+" "+r.Reason)
	}
	slices.Sort(names)
	return names
}

func names(objects []client.Object) []string {
	all := []string{}
	for _, o := range objects {
		all = append(all, o.GetName())
	}
	slices.Sort(all)
	return all
}

// drawCase draws a schedule and a series under it.
func drawCase(t *rapid.T) (s *v1alpha1.SnapshotSchedule, found *series, now time.Time) {
	now = start.AddDate(0, 3, 0).Add(time.Duration(rapid.IntRange(0, 7*24*3600).Draw(t, "now")) * time.Second)
	s = testSchedule("nightly", drawSpec(t))
	return s, drawSeries(t, s, now), now
}

func TestJudgeDecidesAsTheOperatorDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, found, now := drawCase(t)
		judge, err := snapshots.NewJudge(term.Scheme, s, anyClass)
		if err != nil {
			t.Fatal(err)
		}
		want := newOperator(t, s).plan(now, found)
		have := judge.Judge(now, found.judged())
		wantDeletes := deletes(want.Delete)
		var creates []client.Object
		for _, desired := range want.Create {
			creates = append(creates, desired.Object)
		}
		for what, pair := range map[string][2][]string{
			"creates": {names(have.Create), names(creates)},
			"adopts":  {names(have.Adopt), names(want.Adopt)},
			"deletes": {deletes(have.Delete), wantDeletes},
			"next":    {{have.Next.String()}, {want.Next.String()}},
		} {
			if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
				t.Errorf("%s (-operator +plugin):\n%s", what, diff)
			}
		}
		if !slices.IsSortedFunc(have.Outputs, func(a, b client.Object) int {
			return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
		}) {
			t.Errorf("outputs are not the oldest first: %v", names(have.Outputs))
		}
		var verdicts []string
		for i, v := range have.Retention.Verdicts {
			if v.Delete() {
				verdicts = append(verdicts, have.Outputs[i].GetName()+" "+v.String())
			}
		}
		slices.Sort(verdicts)
		if !want.Withheld && !slices.Equal(verdicts, wantDeletes) {
			t.Errorf("verdicts %v, the operator deletes %v", verdicts, wantDeletes)
		}
	})
}

// life is what happens to a series under the operator in three days, if every
// snapshot is ready at once.
func (op *operator) life(of *series, now, until time.Time) (ends map[string]time.Time, taken []string) {
	state := *of
	state.snapshots = nil
	for _, o := range of.snapshots {
		state.snapshots = append(state.snapshots, o.DeepCopyObject().(client.Object))
	}
	ends = map[string]time.Time{}
	for settled := false; !now.After(until); {
		p := op.plan(now, &state)
		for _, adopted := range p.Adopt {
			i := slices.IndexFunc(state.snapshots, func(o client.Object) bool { return o.GetName() == adopted.GetName() })
			state.snapshots[i].SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(op.schedule, snapshots.Ownership.Parent)})
		}
		for _, removal := range p.Delete {
			ends[removal.Object.GetName()] = now
			state.snapshots = slices.DeleteFunc(state.snapshots, func(o client.Object) bool { return o.GetName() == removal.Object.GetName() })
		}
		for _, desired := range p.Create {
			v := desired.Object.(*snapshotv1.VolumeSnapshot)
			v.CreationTimestamp = metav1.NewTime(now)
			v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true), CreationTime: &v.CreationTimestamp}
			taken = append(taken, v.Name)
			state.snapshots = append(state.snapshots, v)
		}
		if !settled && len(p.Adopt) == 0 {
			op.settle(&state, now)
			settled = true
			continue
		}
		if len(p.Create)+len(p.Delete)+len(p.Adopt) > 0 {
			continue
		}
		if !p.Next.After(now) {
			break
		}
		now = p.Next
	}
	return ends, taken
}

// settle completes what was under way: by definition of the simulation.
func (op *operator) settle(state *series, now time.Time) {
	state.restores = nil
	state.snapshots = slices.DeleteFunc(state.snapshots, func(o client.Object) bool {
		return o.GetDeletionTimestamp() != nil && metav1.IsControlledBy(o, op.schedule)
	})
	deadline := time.Hour
	if op.schedule.Spec.ReadyDeadline == "1d" {
		deadline = term.Day
	}
	for _, o := range state.snapshots {
		v := o.(*snapshotv1.VolumeSnapshot)
		cut := v.Status != nil && v.Status.CreationTime != nil
		ready := v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false)
		failed := v.Status != nil && v.Status.Error != nil
		if !ready && (!cut && now.Before(v.CreationTimestamp.Add(deadline)) || cut && !failed) {
			v.Status = readyStatus(v.CreationTimestamp)
		}
	}
}

func TestSimulationLivesAsUnderTheOperator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, found, now := drawCase(t)
		until := now.Add(3 * term.Day)
		judge, err := snapshots.NewJudge(term.Scheme, s, anyClass)
		if err != nil {
			t.Fatal(err)
		}
		ends, taken := newOperator(t, s).life(found, now, until)

		var created []string
		deleted := map[string]time.Time{}
		for sim, more := simulate(judge, now, found), true; more && !sim.now.After(until); {
			var at time.Time
			var d snapshots.Judgment
			at, d, more = sim.step()
			created = append(created, names(d.Create)...)
			for _, removal := range d.Delete {
				deleted[removal.Object.GetName()] = at
			}
		}
		if diff := cmp.Diff(taken, created); diff != "" {
			t.Errorf("snapshots taken (-operator +plugin):\n%s", diff)
		}
		if diff := cmp.Diff(ends, deleted); diff != "" {
			t.Errorf("snapshots deleted (-operator +plugin):\n%s", diff)
		}
		predicted := fatesOf(judge, found, now, until, 0).ends
		for _, o := range found.snapshots {
			checkWhy(t, s, judge, found, o, now, until, ends)
			if end, want := predicted[o.GetName()].at, ends[o.GetName()]; !end.Equal(want) {
				t.Errorf("preview deletes %s at %v, the operator at %v", o.GetName(), end, want)
			}
		}
	})
}

// checkWhy compares the verdicts that why predicts with the life of a snapshot.
func checkWhy(
	t *rapid.T, s *v1alpha1.SnapshotSchedule, judge *snapshots.Judge, of *series, o client.Object, now, until time.Time, ends map[string]time.Time,
) {
	r := &whyResult{Name: o.GetName()}
	r.judge(judge, of, now, until, s.Spec.Retention.MaxCount == nil)
	end, ended := ends[o.GetName()]
	predicted := ""
	if n := len(r.Verdicts); n > 0 && r.Verdicts[n-1].Delete && !r.Verdicts[n-1].Time.After(until) {
		predicted = term.Timestamp(r.Verdicts[n-1].Time.Time)
	}
	want := ""
	if ended {
		want = term.Timestamp(end)
	}
	if predicted != want {
		t.Errorf("why %s predicts deletion at %q, it is deleted at %q: %s", o.GetName(), predicted, want, fmt.Sprint(r.Verdicts))
	}
}

// A judge must not keep anything from one series to the next.
func TestJudgmentsDoNotDependOnEarlierOnes(t *testing.T) {
	s := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "1d"})
	claim := testClaim("data", nil)
	judge, err := snapshots.NewJudge(term.Scheme, s, anyClass)
	if err != nil {
		t.Fatal(err)
	}
	judge.Judge(start.AddDate(0, 0, 9), snapshots.Series{
		MapKey: string(claim.UID), Claims: []*corev1.PersistentVolumeClaim{claim}, Snapshots: []client.Object{testSnapshot(s, claim, start)},
	})
	// Without a map key there is no series, and nothing is decided.
	d := judge.Judge(start.AddDate(0, 0, 9), snapshots.Series{})
	if len(d.Delete) > 0 || len(d.Outputs) > 0 || len(d.Series.Snapshots) > 0 {
		t.Errorf("deletes %v of %v", d.Delete, d.Outputs)
	}
}

// The plan that adopts an orphan withholds its deletes; the next one must still
// see the restore.
func TestSimulationKeepsAnOrphanThatIsBeingRestored(t *testing.T) {
	s := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "1d"})
	claim, restore := testClaim("data", nil), testClaim("restored", nil)
	orphan := testSnapshot(s, claim, start)
	orphan.OwnerReferences = nil
	restore.Status.Phase = corev1.ClaimPending
	restore.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ptr.To(snapshotv1.GroupName), Kind: "VolumeSnapshot", Name: orphan.Name}
	judge, err := snapshots.NewJudge(term.Scheme, s, anyClass)
	if err != nil {
		t.Fatal(err)
	}
	now := start.AddDate(0, 0, 9)
	sim := simulate(judge, now, &series{
		mapKey: string(claim.UID), claim: claim, snapshots: []client.Object{orphan, testSnapshot(s, claim, now)}, restores: []client.Object{restore},
	})
	for pass := range 2 {
		if _, d, _ := sim.step(); len(d.Delete) > 0 {
			t.Errorf("pass %d deletes %v", pass, deletes(d.Delete))
		}
	}
}
