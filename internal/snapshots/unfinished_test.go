// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

func (s snapshotBuilder) deletingSince(at time.Time) snapshotBuilder {
	s.DeletionTimestamp = ptr.To(metav1.NewTime(at))
	return s
}

func (g groupBuilder) deletingSince(at time.Time) groupBuilder {
	g.DeletionTimestamp = ptr.To(metav1.NewTime(at))
	return g
}

// terminating are some snapshots whose deletion does not end.
func terminating(n int) (all series) {
	for i := range n {
		all = append(all, ready(time.Duration(i+1)*day).deletingSince(ago(2*time.Hour)))
	}
	return all
}

// messageOf returns the message of the only problem with a reason; empty without one.
func messageOf(t *testing.T, status *keyStatus, reason string) (message string) {
	t.Helper()
	for _, p := range status.Problems {
		if p.Reason == reason && message != "" {
			t.Errorf("two problems %s", reason)
		}
		if p.Reason == reason {
			message = p.Message
		}
	}
	return message
}

// Contract: RET-14.
func TestATerminatingSnapshotIsReadyNowhere(t *testing.T) {
	is, was := ready(time.Hour).VolumeSnapshot, ready(time.Hour).deleting().VolumeSnapshot
	group, deleted := group(time.Hour, "a", "a").VolumeGroupSnapshot, group(time.Hour, "a", "a").deletingSince(ago(0)).VolumeGroupSnapshot
	for o, want := range map[client.Object]bool{is: true, was: false, group: true, deleted: false} {
		if got := backup.Ready(o); got != want {
			t.Errorf("%T %v: %v", o, o.GetDeletionTimestamp(), got)
		}
		wantConditions := map[string]bool{"Ready": want, "Terminating": !want}
		for _, c := range conditions(o) {
			if (c.Status == metav1.ConditionTrue) != wantConditions[c.Type] {
				t.Errorf("%T: %+v", o, c)
			}
		}
		if len(conditions(o)) != 1 && want || len(conditions(o)) != 2 && !want {
			t.Errorf("%T: %+v", o, conditions(o))
		}
	}
	c := mapCase{schedule: every("6h"), snapshots: series{ready(time.Hour).deleting(), ready(7 * time.Hour), uncut(day).deleting()}}
	status := statusOf(c.decider(t)(c.observe()))
	if status.Terminating != 2 || status.Pending != 0 || status.Failed != 0 || !status.RecoveryPoint.Equal(ago(7*time.Hour)) {
		t.Errorf("status is %+v", status)
	}
}

func TestStatusCountsWhatIsTerminating(t *testing.T) {
	s := every("6h").SnapshotSchedule
	summary := known(1, &keyStatus{Terminating: 2})
	summary.Totals[snapshotsTerminating], summary.Totals[snapshotsTotal], summary.Totals[snapshotsReady] = 2, 5, 3
	summary.Totals[groupsTotal], summary.Totals[groupsTerminating] = 4, 4
	setStatus(noon, s, summary)
	got, groups := s.Status.Outputs.VolumeSnapshots, s.Status.Outputs.VolumeGroupSnapshots
	if got != (v1alpha1.OutputCount{Total: 5, Ready: 3, Terminating: 2}) || *groups != (v1alpha1.OutputCount{Total: 4, Terminating: 4}) {
		t.Errorf("outputs are %+v and %+v", got, groups)
	}
}

// Contract: RET-15.
func TestDeletesThatDoNotEndAreAProblem(t *testing.T) {
	stuck := ready(day).deletingSince(ago(time.Hour))
	for name, tc := range map[string]struct {
		mapCase
		want string // a part of the message; empty: no problem
		next time.Time
	}{
		"after readyDeadline": {
			mapCase{schedule: every("6h").readyDeadline("10m"), snapshots: series{ready(day).deletingSince(ago(10 * time.Minute))}},
			"VolumeSnapshot 24h0m0s has been terminating for more than 10m0s", time.Time{},
		},
		"not before": {
			mapCase{schedule: every("6h").readyDeadline("10m"), snapshots: series{ready(day).deletingSince(ago(10*time.Minute - time.Second))}},
			"", in(time.Second),
		},
		"after an hour, with a longer readyDeadline": {
			mapCase{schedule: every("6h").readyDeadline("1d"), snapshots: series{stuck}}, "for more than 1h0m0s", time.Time{},
		},
		"not within a minute, with a shorter readyDeadline": {
			mapCase{schedule: every("6h").readyDeadline("1s"), snapshots: series{ready(day).deletingSince(ago(59 * time.Second))}},
			"", in(time.Second),
		},
		"with how many there are, and the oldest": {
			mapCase{schedule: every("6h"), snapshots: series{ready(day).deletingSince(ago(2 * time.Hour)), ready(2 * day).deletingSince(ago(3 * time.Hour))}},
			"VolumeSnapshot 48h0m0s (and 1 more) has been terminating", time.Time{},
		},
		"with the command that says why": {
			mapCase{schedule: every("6h"), snapshots: series{stuck}},
			"kubectl describe volumesnapshotcontent 'snapcontent-24h0m0s'", time.Time{},
		},
		"but not with the name of an imported content, which is free text": {
			mapCase{schedule: every("6h"), snapshots: series{imported(day).deletingSince(ago(time.Hour))}},
			"the events of its content say why", time.Time{},
		},
		"that retention waits for": {
			mapCase{schedule: every("6h"), snapshots: terminating(10)}, "retention deletes no other", time.Time{},
		},
		"of an uncut one": {
			mapCase{schedule: every("6h"), snapshots: series{uncut(day).deletingSince(ago(time.Hour))}}, "", time.Time{},
		},
		"of a PVC that is not Bound": {
			mapCase{schedule: every("6h"), claim: claim("data").phase(corev1.ClaimPending), snapshots: series{stuck}}, "terminating", time.Time{},
		},
		"of a PVC that is gone":         {mapCase{schedule: every("6h"), gone: true, snapshots: series{stuck}}, "terminating", time.Time{}},
		"of a PVC that is not selected": {mapCase{schedule: every("6h"), tombstone: true, snapshots: series{stuck}}, "terminating", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := tc.decider(t)(tc.observe())
			status := statusOf(d)
			got := messageOf(t, status, v1alpha1.ReasonDeletionStuck)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) || (got == "") != (status.Stuck == 0) {
				t.Errorf("the problem is %q of %d, want %q", got, status.Stuck, tc.want)
			}
			if !tc.next.IsZero() && !d.Next.Equal(tc.next) {
				t.Errorf("next at %s, want %s", d.Next, tc.next)
			}
			for _, p := range status.Problems {
				if p.Reason == v1alpha1.ReasonDeletionStuck && p.Claim != "data" {
					t.Errorf("it is of PVC %q", p.Claim)
				}
			}
		})
	}
}

// Contract: RET-15.
func TestDeletesThatDoNotEndFailRetention(t *testing.T) {
	s := every("6h")
	c := mapCase{schedule: s, snapshots: append(terminating(3), ready(time.Hour))}
	status := statusOf(c.decider(t)(c.observe()))
	summary := known(1, status)
	summary.Spec = specOf(s)
	sum := setStatus(noon, s.SnapshotSchedule, summary)
	if got := readyOf(s); got.Status != metav1.ConditionFalse || got.Reason != v1alpha1.ReasonRetentionFailing {
		t.Errorf("Ready is %+v", got)
	}
	if f := figuresOf(noon, s.SnapshotSchedule, summary, sum); f.Stuck != 3 || f.Terminating != 3 {
		t.Errorf("figures are %+v", f)
	}
}

func readyOf(s scheduleBuilder) metav1.Condition {
	for _, c := range s.Status.Conditions {
		if c.Type == v1alpha1.ConditionReady {
			return c
		}
	}
	return metav1.Condition{}
}

// Contract: RET-16.
func TestFewSnapshotsOfASeriesAreTerminating(t *testing.T) {
	expired := series{ready(40 * day), ready(41 * day), ready(42 * day)}
	ttl := every("6h").ttl("30d")
	for name, tc := range map[string]struct {
		mapCase
		places int
	}{
		"none is":                          {mapCase{schedule: ttl, snapshots: expired, wantDelete: []string{"960h0m0s", "984h0m0s", "1008h0m0s"}}, 10},
		"nine are":                         {mapCase{schedule: ttl, snapshots: append(terminating(9), expired...), wantDelete: []string{"960h0m0s", "984h0m0s", "1008h0m0s"}}, 1},
		"ten are":                          {mapCase{schedule: ttl, snapshots: append(terminating(10), expired...)}, 0},
		"eleven are":                       {mapCase{schedule: ttl, snapshots: append(terminating(11), expired...)}, 0},
		"ten are, of a PVC that is gone":   {mapCase{schedule: ttl, gone: true, snapshots: append(terminating(10), expired...)}, 0},
		"ten are, and an uncut one failed": {mapCase{schedule: ttl, snapshots: append(terminating(10), uncut(7*time.Hour)), wantDelete: []string{"7h0m0s"}}, 0},
		"ten are, and a failed one keeps the PVC": {mapCase{
			schedule: ttl, claim: claim("data").deleting(), snapshots: append(terminating(10), ready(time.Hour), erring(7*time.Hour)), wantDelete: []string{"7h0m0s"},
		}, 0},
		"an uncut one is": {mapCase{schedule: ttl, snapshots: append(terminating(9), append(expired, uncut(3*day).deleting())...), wantDelete: []string{"960h0m0s", "984h0m0s", "1008h0m0s"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.minReadyIsUnset() {
				tc.schedule = tc.schedule.minReady(0)
			}
			d := tc.decider(t)(tc.observe())
			slices.Sort(tc.wantDelete)
			if got := deletesOf(d); !slices.Equal(got, tc.wantDelete) || d.Places != tc.places {
				t.Errorf("deletes %v at %d places, want %v at %d", got, d.Places, tc.wantDelete, tc.places)
			}
			for _, r := range d.Delete {
				if r.Bounded != strings.HasPrefix(r.Reason, "Expired") {
					t.Errorf("%s is bounded: %v", r.Reason, r.Bounded)
				}
			}
		})
	}
}

func (tc *mapCase) minReadyIsUnset() bool { return tc.schedule.Spec.Retention.MinReady == nil }

// Contract: RET-15, RET-16.
func TestDeletesOfGroupsThatDoNotEnd(t *testing.T) {
	stuck := func(n int) (all []groupBuilder) {
		for i := range n {
			all = append(all, group(time.Duration(i+2)*day, "a b", "a b").deletingSince(ago(2*time.Hour)))
		}
		return all
	}
	old, older := group(40*day, "a b", "a b"), group(41*day, "a b", "a b")
	now := group(time.Hour, "a b", "a b")
	for n, want := range map[int]int{9: 2, 10: 0} {
		tc := groupCase{schedule: every("6h").grouped().ttl("30d"), groups: append(stuck(n), now, old, older)}
		d := tc.decide(t)
		message := messageOf(t, statusOf(d), v1alpha1.ReasonDeletionStuck)
		if len(d.Delete) != want || !strings.Contains(message, fmt.Sprintf(" (and %d more) has been terminating", n-1)) {
			t.Errorf("%d: deletes %v, problem %q", n, deletesOf(d), message)
		}
		tc.claims, tc.others = []claimBuilder{}, nil
		if got := messageOf(t, statusOf(tc.decide(t)), v1alpha1.ReasonDeletionStuck); got == "" {
			t.Error("no problem without a PVC")
		}
	}
}

// Contract: ONE-8.
func TestASnapshotThatKeepsItsClaimIsAProblem(t *testing.T) {
	leaving := func(since time.Duration) claimBuilder {
		c := claim("data")
		c.DeletionTimestamp = ptr.To(metav1.NewTime(ago(since)))
		return c
	}
	for name, tc := range map[string]struct {
		mapCase
		want string
	}{
		"in progress":        {mapCase{claim: leaving(2 * time.Minute), snapshots: series{uploading(time.Hour)}}, "VolumeSnapshot 1h0m0s is ready or deleted: kubectl delete -n 'shop' volumesnapshot '1h0m0s'"},
		"failed and held":    {mapCase{claim: leaving(time.Hour), snapshots: series{ready(time.Hour), erring(7 * time.Hour).held()}}, "7h0m0s"},
		"failed, the only":   {mapCase{claim: leaving(time.Hour), snapshots: series{erring(7 * time.Hour)}}, "7h0m0s"},
		"terminating":        {mapCase{claim: leaving(time.Hour), snapshots: series{uncut(7 * time.Hour).deleting()}}, "7h0m0s"},
		"two":                {mapCase{claim: leaving(time.Hour), snapshots: series{uploading(time.Hour), erring(7 * time.Hour)}}, "(and 1 more)"},
		"of one not managed": {mapCase{tombstone: true, claim: leaving(time.Hour), snapshots: series{uploading(time.Hour)}}, "1h0m0s"},
		"too early":          {mapCase{claim: leaving(2*time.Minute - time.Second), snapshots: series{uploading(time.Hour)}, wantNext: in(time.Second)}, ""},
		"ready":              {mapCase{claim: leaving(time.Hour), snapshots: series{ready(time.Hour)}}, ""},
		"imported":           {mapCase{claim: leaving(time.Hour), snapshots: series{imported(time.Hour)}}, ""},
		"not being deleted":  {mapCase{snapshots: series{uploading(time.Hour)}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.schedule = every("6h")
			d := tc.decider(t)(tc.observe())
			status := statusOf(d)
			if got := messageOf(t, status, v1alpha1.ReasonSnapshotKeepsClaim); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("the problem is %q, want %q", got, tc.want)
			}
			if !tc.wantNext.IsZero() && !d.Next.Equal(tc.wantNext) {
				t.Errorf("next at %s, want %s", d.Next, tc.wantNext)
			}
			s := every("6h")
			setStatus(noon, s.SnapshotSchedule, known(1, status))
			if got := readyOf(s); tc.want != "" && got.Reason != v1alpha1.ReasonSnapshotsFailing {
				t.Errorf("Ready is %+v", got)
			}
		})
	}
}

// The snapshot controller keeps a PVC by the name of the sources of snapshots, also those of an earlier PVC of that name.
//
// Contract: ONE-8.
func TestASnapshotOfAnEarlierPVCKeepsNoneOfItsName(t *testing.T) {
	leaving := claim("data")
	leaving.UID, leaving.DeletionTimestamp = "another", ptr.To(metav1.NewTime(ago(time.Hour)))
	for name, tc := range map[string]struct {
		related     client.Object
		of          snapshotBuilder
		wantDelete  []string
		wantProblem bool
	}{
		"a failed one is deleted":                    {leaving.PersistentVolumeClaim, erring(7 * time.Hour), []string{"7h0m0s"}, true},
		"one in progress is named":                   {leaving.PersistentVolumeClaim, uploading(7 * time.Hour), nil, true},
		"a failed one that is held is named":         {leaving.PersistentVolumeClaim, erring(7 * time.Hour).held(), nil, true},
		"a ready one keeps none":                     {leaving.PersistentVolumeClaim, ready(7 * time.Hour), nil, false},
		"of a PVC that is not being deleted":         {claim("data").PersistentVolumeClaim, erring(7 * time.Hour), nil, false},
		"of a PVC of another name":                   {claim("other").deleting().PersistentVolumeClaim, erring(7 * time.Hour), nil, false},
		"of a PVC of its name, in another namespace": {elsewhere(leaving), erring(7 * time.Hour), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := mapCase{schedule: every("6h"), gone: true, snapshots: series{tc.of}}
			seen := c.observe()
			seen.Related = []client.Object{tc.related}
			d := c.decider(t)(seen)
			if got := deletesOf(d); !slices.Equal(got, tc.wantDelete) {
				t.Errorf("deletes %v, want %v", got, tc.wantDelete)
			}
			if got := messageOf(t, statusOf(d), v1alpha1.ReasonSnapshotKeepsClaim); (got != "") != tc.wantProblem || tc.wantProblem && !strings.Contains(got, "7h0m0s") {
				t.Errorf("the problem is %q, want one: %t", got, tc.wantProblem)
			}
			if polls := !d.Next.IsZero() && !d.Next.After(in(leavingCheck)); polls != !backup.ReadyToUse(tc.of.VolumeSnapshot) {
				t.Errorf("next at %s", d.Next)
			}
		})
	}
}

// Contract: ONE-8.
func TestPVCsThatAreBeingDeletedAreFoundByTheNamesOfSources(t *testing.T) {
	f := newFlight(0, claim("a").deleting().PersistentVolumeClaim, claim("b").deleting().PersistentVolumeClaim,
		claim("c").deleting().PersistentVolumeClaim, claim("d").PersistentVolumeClaim, elsewhere(claim("a").deleting()))
	must(t, f.cached[reflect.TypeOf(anyClaim)].AddIndexers(Indexers()))
	of := uncut(time.Hour)
	of.Spec.Source.PersistentVolumeClaimName = ptr.To("a")
	snapshots := []client.Object{of.VolumeSnapshot, group(time.Hour, "b d", "").VolumeGroupSnapshot}
	if got := namesOf(leavingFrom(f.stores, "shop", snapshots)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("finds %v", got)
	}
	if got := leavingFrom(f.stores, "other", snapshots); len(got) > 0 {
		t.Errorf("finds %v where no PVC is being deleted", namesOf(got))
	}
}

// elsewhere is a PVC in another namespace.
func elsewhere(c claimBuilder) client.Object {
	other := c.DeepCopy()
	other.Namespace = "elsewhere"
	return other
}

// Contract: ONE-8.
func TestAGroupSnapshotOfAnEarlierPVCKeepsNoneOfItsName(t *testing.T) {
	leaving := claim("b")
	leaving.UID, leaving.DeletionTimestamp = "another", ptr.To(metav1.NewTime(ago(time.Hour)))
	failed := group(7*time.Hour, "b", "b").unready().with(func(members []client.Object) {
		members[0].(*snapshotv1.VolumeSnapshot).Status.ReadyToUse = nil
	})
	must(t, json.Unmarshal([]byte(`{"error":{"message":"no"}}`), failed.Status))
	tc := groupCase{claims: []claimBuilder{}, groups: []groupBuilder{failed}, related: []client.Object{leaving.PersistentVolumeClaim}}
	d := tc.decide(t)
	if got := deletesOf(d); !slices.Equal(got, []string{"g7h0m0s"}) {
		t.Errorf("deletes %v", got)
	}
	if got := messageOf(t, statusOf(d), v1alpha1.ReasonSnapshotKeepsClaim); !strings.Contains(got, "volumegroupsnapshot 'g7h0m0s'") {
		t.Errorf("the problem is %q", got)
	}
}

// Contract: ONE-8.
func TestAMemberThatKeepsItsClaimIsAProblem(t *testing.T) {
	leaving := claim("b").deleting()
	leaving.DeletionTimestamp = ptr.To(metav1.NewTime(ago(time.Hour)))
	failed := group(7*time.Hour, "a b", "a b").unready().with(func(members []client.Object) {
		for _, m := range members {
			m.(*snapshotv1.VolumeSnapshot).Status.ReadyToUse = nil
		}
	})
	for name, claims := range map[string][]claimBuilder{"one is being deleted": {claim("a"), leaving}, "all are, which skips the group": {leaving}} {
		tc := groupCase{claims: claims, groups: []groupBuilder{failed}}
		status := statusOf(tc.decide(t))
		want := "VolumeSnapshot g7h0m0s-b is ready or deleted: kubectl delete -n 'shop' volumegroupsnapshot 'g7h0m0s'"
		if got := messageOf(t, status, v1alpha1.ReasonSnapshotKeepsClaim); !strings.Contains(got, want) {
			t.Errorf("%s: the problem is %q, want %q", name, got, want)
		}
	}
}

// Contract: RET-18.
func TestRestoresThatStayPendingAreAProblem(t *testing.T) {
	restore := func(name string, age time.Duration, from string) client.Object {
		return claim(name).created(ago(age)).phase(corev1.ClaimPending).from(snapshotv1.GroupName, "VolumeSnapshot", from).PersistentVolumeClaim
	}
	for name, tc := range map[string]struct {
		related []client.Object
		want    string
		next    time.Time
	}{
		"after an hour": {[]client.Object{restore("r", time.Hour, "1h0m0s")}, "PVC shop/r is restored from VolumeSnapshot 1h0m0s, but has been Pending", time.Time{}},
		"not before":    {[]client.Object{restore("r", 59*time.Minute+50*time.Second, "1h0m0s")}, "", in(10 * time.Second)},
		"the oldest":    {[]client.Object{restore("r", 2*time.Hour, "1h0m0s"), restore("q", 3*time.Hour, "7h0m0s")}, "PVC shop/q (and 1 more PVCs)", time.Time{}},
		"of another":    {[]client.Object{restore("r", time.Hour, "other")}, "", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, gone := range []bool{false, true} {
				c := mapCase{schedule: every("6h").ttl("1d"), gone: gone, snapshots: series{ready(time.Hour), ready(7 * time.Hour)}}
				seen := c.observe()
				seen.Related = tc.related
				d := c.decider(t)(seen)
				status := statusOf(d)
				if got := messageOf(t, status, v1alpha1.ReasonRestorePending); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
					t.Errorf("the problem is %q, want %q", got, tc.want)
				}
				if !tc.next.IsZero() && !d.Next.Equal(tc.next) {
					t.Errorf("next at %s, want %s", d.Next, tc.next)
				}
				s := every("6h")
				setStatus(noon, s.SnapshotSchedule, known(1, status))
				if got := readyOf(s); got.Status != metav1.ConditionTrue {
					t.Errorf("Ready is %+v", got)
				}
			}
		})
	}
}

// Contract: RET-17.
func TestDeletesAreCountedWhenTheSnapshotIsGone(t *testing.T) {
	s, key := measured(t, "stuck")
	measure(noon, s.SnapshotSchedule, known(0), combined{})
	f := newFlight(1)
	r := newReporter(nil, f.clock, f.inFlight, testMetrics)
	counted := func() float64 { return seriesOf(t, key)["snapshots_deleted_total Expired"] }
	stuck, gone := ready(time.Hour).VolumeSnapshot, ready(2*time.Hour).VolumeSnapshot
	f.add(stuck)
	r.count(key, mapcontroller.Outcome{Deleted: []mapcontroller.Removal{{Object: stuck, Reason: "Expired"}, {Object: gone, Reason: "Expired"}}})
	if got := counted(); got != 1 {
		t.Errorf("%v are counted, want 1: the cache has the other", got)
	}
	r.deletes.observed(stuck, stuck)
	r.deletes.observed(stuck, nil) // released: the cache still has it
	if got := counted(); got != 1 {
		t.Errorf("%v are counted while it is terminating", got)
	}
	must(t, f.cached[reflect.TypeOf(anySnapshot)].Delete(stuck))
	other := ready(3 * time.Hour).VolumeSnapshot
	other.UID = types.UID("somebody deleted it")
	r.deletes.observed(other, nil)
	r.deletes.observed(stuck, nil)
	r.deletes.observed(stuck, nil)
	if got := counted(); got != 2 {
		t.Errorf("%v are counted once it is gone, want 2", got)
	}
	f.add(stuck)
	r.count(key, mapcontroller.Outcome{Deleted: []mapcontroller.Removal{{Object: stuck, Reason: "Expired"}}})
	r.forget(key)
	if n := len(r.deletes.accepted); n != 0 {
		t.Errorf("%d are left of a schedule that is gone", n)
	}
}
