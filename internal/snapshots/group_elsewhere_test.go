// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// relabeled are the group snapshots of a PVC whose label of byLabel changes.
type relabeled struct {
	judge         *Judge
	claim         claimBuilder
	made, members []client.Object
}

func newRelabeled(t *testing.T, s scheduleBuilder) *relabeled {
	t.Helper()
	s.Spec.Group.ByLabel = "team"
	judge, err := NewJudge(judgeScheme(t), s.SnapshotSchedule, Classes{})
	must(t, err)
	return &relabeled{judge: judge, claim: claim("data").member().created(ago(300 * day))}
}

func (r *relabeled) label(value string) { r.claim.Labels["team"] = value }

// series returns what there is of a key.
func (r *relabeled) series(key string) Series {
	of := Series{MapKey: key, Claims: []*corev1.PersistentVolumeClaim{r.claim.PersistentVolumeClaim}, Members: r.members}
	for _, v := range r.made {
		if v.GetLabels()[v1alpha1.LabelMapKey] == key {
			of.Snapshots = append(of.Snapshots, v)
		} else {
			of.Elsewhere = append(of.Elsewhere, v)
		}
	}
	return of
}

// decide decides about a key at a time.
func (r *relabeled) decide(at time.Time, key string) Judgment {
	return r.judge.Judge(at, r.series(key))
}

// take creates what is due of the present group, and makes it ready.
func (r *relabeled) take(at time.Time) int {
	d := r.decide(at, r.judge.Key(r.claim.PersistentVolumeClaim))
	for _, o := range d.Create {
		v := o.(*groupv1.VolumeGroupSnapshot)
		r.members = append(r.members, Complete(v, metav1.NewTime(at))...)
		r.made = append(r.made, v)
	}
	return len(d.Create)
}

// Each new value of the label of byLabel is another group, without snapshots.
//
// Contract: GRP-7, GRP-15.
func TestToRelabelAPVCIsNoRequest(t *testing.T) {
	r := newRelabeled(t, every("24h").grouped().ttl("10d"))
	for i := range 100 {
		r.label(fmt.Sprint("v", i))
		if n := r.take(noon.Add(time.Duration(i) * 10 * time.Second)); n != 0 && i > 0 {
			t.Fatalf("label %d takes a group snapshot", i)
		}
	}
	last := r.judge.Key(r.claim.PersistentVolumeClaim)
	first := backup.SlotOf(r.made[0])
	if d := r.decide(noon.Add(time.Hour), last); !d.Slots.Next.Equal(first.Add(day)) || len(d.Problems) > 0 || d.Parts[0].Stale() {
		t.Errorf("next slot %v, want %v; problems %v, stale %t", d.Slots.Next, first.Add(day), d.Problems, d.Parts[0].Stale())
	}
	if got := r.decide(noon.Add(time.Hour), last).Parts[0].RecoveryPoint; !got.Equal(noon) {
		t.Errorf("recovery point %v, want %v: the group snapshot of another key", got, noon)
	}
	if n := r.take(first.Add(day)); n != 1 {
		t.Errorf("a whole interval later: %d", n)
	}
}

// What is known of a PVC of a group depends on the group snapshots of all keys, each fact by the same ones.
//
// Contract: GRP-15, STAT-16.
func TestWhatIsKnownOfARelabeledPVCIsOfAllKeys(t *testing.T) {
	r := newRelabeled(t, every("24h").grouped())
	r.label("v0")
	r.take(noon)
	annotate(r.members[0], v1alpha1.AnnotationVerifiedAt, rfc3339(noon.Add(time.Minute)))
	r.label("v1")
	now, key := noon.Add(time.Hour), r.judge.Key(r.claim.PersistentVolumeClaim)
	d := r.decide(now, key)
	if got := d.Parts[0].Drills.Verified; !got.Equal(noon.Add(time.Minute)) {
		t.Errorf("verified at %v", got)
	}
	if one := d.OfPart(0).Series.Snapshots; len(one) != 1 || !one[0].IsReady() {
		t.Errorf("the series of the PVC is %v", one)
	}
	s := every("24h").grouped()
	decided, _ := r.judge.program.mapKey(r.judge.observe(now, r.series(key)))
	setStatus(now, s.SnapshotSchedule, known(1, statusOf(decided)))
	got := s.Status
	for what, at := range map[string]*metav1.Time{
		"oldestRecoveryPointTime": got.OldestRecoveryPointTime, "recoveryPointTime": got.RecoveryPointTime,
	} {
		if at == nil || !at.Time.Equal(noon) {
			t.Errorf("%s is %v, want %v", what, at, noon)
		}
	}
	if at := got.OldestVerifiedTime; at == nil || !at.Time.Equal(noon.Add(time.Minute)) {
		t.Errorf("oldestVerifiedTime is %v", at)
	}
	if !meta.IsStatusConditionTrue(got.Conditions, v1alpha1.ConditionProtected) {
		t.Errorf("conditions are %+v", got.Conditions)
	}
}

// Contract: GRP-7.
func TestAPVCWithoutAnySnapshotIsTakenAtOnceInANewGroup(t *testing.T) {
	r := newRelabeled(t, every("24h").grouped())
	r.label("v0")
	r.take(noon)
	r.label("v1")
	joined := claim("new").member().created(ago(100 * day))
	joined.Labels["team"] = "v1"
	key := r.judge.Key(r.claim.PersistentVolumeClaim)
	d := r.judge.Judge(noon.Add(time.Hour), Series{
		MapKey: key, Claims: []*corev1.PersistentVolumeClaim{r.claim.PersistentVolumeClaim, joined.PersistentVolumeClaim}, Elsewhere: r.made, Members: r.members,
	})
	if len(d.Create) != 1 {
		t.Errorf("creates %d: one of its PVCs has no snapshot", len(d.Create))
	}
}

// A group snapshot of another key counts for a PVC if it holds it, or will: not because the PVC is in its record.
//
// Contract: GRP-7.
func TestAGroupSnapshotOfAnotherKeyCountsForThePVCsThatItHolds(t *testing.T) {
	started := func(of groupBuilder) groupBuilder {
		of.Spec.Source.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
		return of.uncut()
	}
	others := func(of groupBuilder) groupBuilder {
		of.Spec.Source.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db", "team": "v0"}}
		return of.uncut()
	}
	deleting := func(of groupBuilder) groupBuilder { markDeleting(of); return of }
	unreadyMember := func(members []client.Object) { members[0].(*snapshotv1.VolumeSnapshot).Status.ReadyToUse = nil }
	for name, tc := range map[string]struct {
		of     groupBuilder
		counts bool
	}{
		"holds it":                                  {group(2*time.Hour, "a", "a"), true},
		"was cut without it":                        {group(2*time.Hour, "a", ""), false},
		"holds another one of its record":           {group(2*time.Hour, "a b", "b"), false},
		"its member is not ready":                   {group(2*time.Hour, "a", "a").with(unreadyMember), false},
		"is being deleted":                          {deleting(group(2*time.Hour, "a", "a")), false},
		"is cut of it, in progress":                 {group(30*time.Minute, "a", "a").unready(), true},
		"is cut without it, in progress":            {group(30*time.Minute, "a", "").unready(), false},
		"will be cut of it":                         {started(group(30*time.Minute, "a", "")), true},
		"will be cut of it, and does not record it": {started(group(30*time.Minute, "b", "")), false},
		"will be cut of others":                     {others(group(30*time.Minute, "a", "")), false},
		"is not cut in time":                        {started(group(2*time.Hour, "a", "")), false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.of.Labels[v1alpha1.LabelMapKey] = "g-" + strings.Repeat("a", backup.GroupKeyLength)
			cached, err := stripGroup(tc.of.DeepCopy())
			must(t, err)
			compiled, err := Compile(every("6h").grouped().readyDeadline("1h").SnapshotSchedule)
			must(t, err)
			d := compiled.Map(mapcontroller.Observation{
				Now: noon, MapKey: wholeKey, Selected: []client.Object{claim("a").member().PersistentVolumeClaim},
				Elsewhere: []client.Object{cached.(client.Object)}, Children: tc.of.members,
			})
			if counts := len(d.Ensure) == 0; counts != tc.counts {
				t.Errorf("counts: %t", counts)
			}
		})
	}
}

// The slot of a group whose PVCs have a snapshot under another key is when the interval has passed since it: that of the grid may be older
// than startingDeadline by then.
//
// Contract: GRP-7, SLOT-5.
func TestARelabeledGroupMissesNoSlotByStartingDeadline(t *testing.T) {
	s := every("24h").grouped().ttl("10d").deadline("2h")
	base := s.CreationTimestamp.Add(2*day + 6*time.Hour) // six hours after a slot
	r := newRelabeled(t, s.requested(rfc3339(base)))
	r.label("v0")
	if r.take(base) != 1 {
		t.Fatal("the request is not taken")
	}
	if r.label("v1"); r.take(base.Add(day-time.Second)) != 0 {
		t.Fatal("it is taken before the interval has passed")
	}
	if r.take(base.Add(day+time.Hour)) != 1 {
		t.Fatal("it is not taken after the interval")
	}
	if got := backup.SlotOf(r.made[1].(*groupv1.VolumeGroupSnapshot)); !got.Equal(base.Add(day)) {
		t.Errorf("taken for %v, want %v", got, base.Add(day))
	}
}

// Contract: GRP-7.
func TestARequestOfARelabeledPVCIsDue(t *testing.T) {
	s := every("24h").grouped()
	r := newRelabeled(t, s)
	r.label("v0")
	r.take(noon)
	r.label("v1")
	r2 := newRelabeled(t, s.requested(rfc3339(noon.Add(time.Hour))))
	r2.made, r2.members = r.made, r.members
	r2.label("v1")
	if n := r2.take(noon.Add(time.Hour)); n != 1 {
		t.Errorf("takes %d", n)
	}
}

// A group that a PVC has left keeps nothing that a newer one has.
//
// Contract: GRP-9.
func TestGroupsThatAPVCHasLeftAreNotKeptForIt(t *testing.T) {
	r := newRelabeled(t, every("24h").grouped().ttl("10d"))
	for i := range 5 {
		r.label(fmt.Sprint("v", i))
		if r.take(noon.Add(time.Duration(i)*25*time.Hour)) != 1 {
			t.Fatalf("label %d takes none after more than an interval", i)
		}
	}
	later, kept := noon.AddDate(5, 0, 0), 0
	for _, v := range r.made {
		d := r.decide(later, v.GetLabels()[v1alpha1.LabelMapKey])
		if kept++; len(d.Delete) > 0 {
			kept--
		}
	}
	if kept != 1 {
		t.Errorf("five years later, %d group snapshots are kept of one PVC, want the newest", kept)
	}
}

// Group snapshots that are older than all PVCs of the group: a rollback carried them over, or all PVCs were created again.
//
// Contract: GRP-7.
func TestAGroupKeepsTheRhythmOfGroupSnapshotsThatAreOlderThanItsPVCs(t *testing.T) {
	recent := []claimBuilder{claim("a").created(ago(time.Minute)), claim("b").created(ago(30 * time.Second))}
	carried := []groupBuilder{group(5*time.Hour, "a b", "a b")}
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		claims   []claimBuilder
		groups   []groupBuilder
		now      bool
		next     time.Duration
	}{
		"waits for the interval":            {every("6h").grouped().jitter("5h"), recent, carried, false, time.Hour},
		"waits also with a new one of them": {every("6h").grouped(), append(recent, claim("c").created(ago(time.Second))), carried, false, time.Hour},
		"waits for the next cron slot":      {cron("0 13 * * *", "").grouped(), recent, carried, false, time.Hour},
		"takes the interval that is missed": {every("6h").grouped(), recent, []groupBuilder{group(8*time.Hour, "a b", "a b")}, true, 4 * time.Hour},
		"takes a cron slot that is missed":  {cron("0 9 * * *", "").grouped(), recent, carried, true, 21 * time.Hour},
		"one PVC is older: the group's own": {every("6h").grouped(), []claimBuilder{recent[0], claim("b").created(ago(7 * time.Hour))}, carried, true, 5 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			c := groupCase{schedule: tc.schedule, claims: tc.claims, groups: tc.groups}
			d := c.decide(t)
			if status := statusOf(d); len(d.Ensure) > 0 != tc.now || !status.NextSlot.Equal(in(tc.next)) {
				t.Errorf("creates %d, next slot %v; want %t and %v", len(d.Ensure), status.NextSlot, tc.now, in(tc.next))
			}
			for _, part := range statusOf(d).parts() {
				if part.protection == protectionOld {
					t.Errorf("%s is not protected", part.name)
				}
			}
		})
	}
}
