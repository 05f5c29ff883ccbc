// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"slices"
	"strings"
	"testing"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// Contract: ONE-1, ONE-2, ONE-4, ONE-5, ONE-6, RET-11.
func TestMapOneAtATime(t *testing.T) {
	runMap(t, map[string]mapCase{
		"uncut and young blocks": {
			schedule: every("6h"), snapshots: series{uncut(time.Hour + time.Minute).created(ago(59 * time.Minute))},
			wantNext: in(time.Minute),
		},
		"an upload blocks for as long as it takes, and is slow and overdue": {
			schedule: every("6h"), snapshots: series{uploading(2 * day)},
			wantProblem: v1alpha1.ReasonSnapshotOverdue + " " + v1alpha1.ReasonSnapshotSlow, wantNext: in(5 * time.Hour),
		},
		"an upload that blocks one slot is slow and nothing else": {
			schedule: every("6h"), snapshots: series{uploading(7 * time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotSlow, wantNext: in(5 * time.Hour),
		},
		"an upload that blocks nothing is no problem": {
			schedule: every("6h"), snapshots: series{uploading(time.Hour)}, wantNext: in(5 * time.Hour),
		},
		"cut and in error doesn't block": {
			schedule: every("6h"), snapshots: series{erring(90 * time.Minute).created(ago(time.Minute))},
			wantCreate: ago(time.Hour),
		},
		"cut and failed doesn't block, and is reported": {
			schedule: every("6h"), snapshots: series{erring(7 * time.Hour)},
			wantCreate: ago(time.Hour), wantProblem: v1alpha1.ReasonSnapshotError + " " + v1alpha1.ReasonSnapshotFailed,
		},
		"uncut and failed stays while its slot is the newest": {
			schedule: every("6h"), snapshots: series{uncut(time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotFailed, wantNext: in(5 * time.Hour),
		},
		"uncut and failed is deleted first when a new slot is due": {
			schedule: every("6h"), snapshots: series{uncut(7 * time.Hour)},
			wantDelete: []string{"7h0m0s"}, wantReason: "Replaced", wantProblem: v1alpha1.ReasonSnapshotFailed,
		},
		"uncut and being deleted blocks, and is still reported": {
			schedule: every("6h"), snapshots: series{uncut(7 * time.Hour).deleting()}, wantProblem: v1alpha1.ReasonSnapshotFailed,
		},
		"uncut, young and being deleted blocks": {
			schedule: every("6h"), snapshots: series{uncut(7 * time.Hour).created(ago(time.Minute)).deleting()},
		},
		"uncut and deleted: the current slot is taken": {schedule: every("6h"), wantCreate: ago(time.Hour)},
		"uncut and held is replaced": {
			schedule: every("6h"), snapshots: series{uncut(7 * time.Hour).held()}, wantDelete: []string{"7h0m0s"},
			wantProblem: v1alpha1.ReasonSnapshotFailed,
		},
		"uncut behind a newer ready one is replaced as well": {
			schedule: every("6h"), snapshots: series{ready(7 * time.Hour), uncut(13 * time.Hour).held()}, wantDelete: []string{"13h0m0s"},
		},
		"uncut and failed waits while suspended": {
			schedule: every("6h").suspended(), snapshots: series{uncut(7 * time.Hour)}, wantProblem: v1alpha1.ReasonSnapshotFailed,
		},
		"an older one that lost its readiness never blocks": {
			schedule: every("6h"), snapshots: series{ready(7 * time.Hour), uploading(13 * time.Hour)}, wantCreate: ago(time.Hour),
		},
		"an upload that is being deleted doesn't block": {
			schedule: every("6h"), snapshots: series{uploading(7 * time.Hour).deleting()}, wantCreate: ago(time.Hour),
		},
		"the last good one, in error for less than readyDeadline, is not deleted": {
			schedule: every("6h").ttl("1d"), snapshots: series{ready(time.Hour).deleting(), erring(2 * day).since(ago(59 * time.Minute))},
			wantProblem: v1alpha1.ReasonSnapshotError, wantNext: in(time.Minute),
		},
		"the last good one, in error for readyDeadline, is deleted": {
			schedule: every("6h").ttl("1d"), snapshots: series{ready(time.Hour).deleting(), erring(2 * day).since(ago(time.Hour))},
			wantDelete: []string{"48h0m0s"}, wantReason: "Expired", wantProblem: v1alpha1.ReasonSnapshotError,
		},
		"spec.readyDeadline counts": {
			schedule: every("6h").readyDeadline("10h"), snapshots: series{uncut(7 * time.Hour)}, wantNext: in(3 * time.Hour),
		},
		"uncut of a PVC that is being deleted is deleted at once": {
			schedule: every("6h"), claim: claim("data").deleting(), snapshots: series{uncut(time.Minute)},
			wantDelete: []string{"1m0s"}, wantReason: "ClaimGone", wantSkip: "being deleted",
		},
		"imported without a status blocks nothing, stays, and is no problem": {
			schedule: every("6h"), snapshots: series{imported(2 * time.Hour), imported(time.Minute)}, wantCreate: ago(time.Hour),
			wantNext: in(5 * time.Hour),
		},
		"imported does not hide a failed one": {
			schedule: every("6h"), snapshots: series{imported(time.Minute), uncut(time.Hour)}, wantProblem: v1alpha1.ReasonSnapshotFailed,
		},
		"imported of a PVC that is being deleted stays": {
			schedule: every("6h"), claim: claim("data").deleting(), snapshots: series{imported(time.Minute)}, wantSkip: "being deleted",
		},
		"cut of a PVC that is being deleted stays": {
			schedule: every("6h"), claim: claim("data").deleting(), snapshots: series{uploading(time.Minute)},
			wantSkip: "being deleted",
		},
	})
}

// Contract: STAT-5.
func TestMapOverdue(t *testing.T) {
	runMap(t, map[string]mapCase{
		"a whole interval without a snapshot is overdue": {
			schedule: every("6h").deadline("1h"), snapshots: series{ready(13 * time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotOverdue,
		},
		"not if the slot before is covered": {schedule: every("6h").deadline("1h"), snapshots: series{ready(7 * time.Hour)}},
		"not if one is taken now":           {schedule: every("6h"), snapshots: series{ready(13 * time.Hour)}, wantCreate: ago(time.Hour)},
		"not if one is taken for the current cron slot": {
			schedule: cron("0 * * * *", "").deadline("1m"), claim: claim("data").created(ago(day)),
			snapshots: series{ready(2 * time.Hour)}, wantCreate: noon,
		},
		"not while suspended": {schedule: every("6h").deadline("1h").suspended(), snapshots: series{ready(13 * time.Hour)}},
		// The floor would have kept one that was taken since.
		"with a TTL shorter than the interval, if none is left": {
			schedule: every("6h").ttl("30m"), wantProblem: v1alpha1.ReasonSnapshotOverdue, wantNext: in(5 * time.Hour),
		},
		"with a TTL shorter than the interval, if the last one is older": {
			schedule: every("6h").ttl("30m"), snapshots: series{ready(13 * time.Hour)}, wantProblem: v1alpha1.ReasonSnapshotOverdue,
		},
		"with a TTL shorter than the interval, not if the floor has one": {
			schedule: every("6h").ttl("30m"), snapshots: series{ready(time.Hour)},
		},
		"with a TTL shorter than the interval, while an upload blocks": {
			schedule: every("6h").ttl("5h"), snapshots: series{uploading(73 * time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotOverdue + " " + v1alpha1.ReasonSnapshotSlow,
		},
		"as before when the slot is too old to be taken": {
			schedule: every("6h").ttl("50m"), snapshots: series{uploading(73 * time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotOverdue + " " + v1alpha1.ReasonSnapshotSlow, wantNext: in(5 * time.Hour),
		},
		"without a floor too": {
			schedule: every("6h").ttl("50m").minReady(0), snapshots: series{uploading(73 * time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotOverdue + " " + v1alpha1.ReasonSnapshotSlow,
		},
		"without a floor, not beyond the TTL, if nothing blocks: one that was taken since has expired": {
			schedule: every("6h").ttl("7h").deadline("1h").minReady(0), snapshots: series{ready(13 * time.Hour).held()},
		},
		"without a floor, within the TTL": {
			schedule: every("6h").ttl("8h").deadline("1h").minReady(0), snapshots: series{ready(13 * time.Hour).held()},
			wantProblem: v1alpha1.ReasonSnapshotOverdue, wantNext: in(time.Hour),
		},
		"not of a new PVC": {schedule: every("6h").deadline("1h"), claim: claim("data").created(ago(2 * time.Hour))},
	})
}

// Contract: MET-1.
func TestMapCountsSnapshotsByState(t *testing.T) {
	for name, tc := range map[string]struct {
		snapshots               series
		wantPending, wantFailed int32
	}{
		"none":                               {nil, 0, 0},
		"ready":                              {series{ready(time.Hour)}, 0, 0},
		"in progress":                        {series{uncut(time.Minute), uploading(2 * day)}, 2, 0},
		"in error, and may still come right": {series{erring(time.Minute)}, 1, 0},
		"failed":                             {series{uncut(2 * time.Hour), erring(2 * time.Hour)}, 0, 2},
		"imported":                           {series{imported(2 * day)}, 1, 0},
		"being deleted":                      {series{ready(time.Hour).deleting(), uncut(2 * time.Hour).deleting()}, 0, 0},
		"all":                                {series{ready(5 * time.Hour), uncut(2 * time.Hour), erring(3 * time.Hour), uncut(time.Minute)}, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := mapCase{schedule: every("6h"), snapshots: tc.snapshots}
			if got := statusOf(c.decider(t)(c.observe())); got.Pending != tc.wantPending || got.Failed != tc.wantFailed {
				t.Errorf("%d pending and %d failed, want %d and %d", got.Pending, got.Failed, tc.wantPending, tc.wantFailed)
			}
			// The snapshots of a PVC that is gone are detached, and nothing else.
			c.gone = true
			if got := statusOf(c.decider(t)(c.observe())); got.Pending != 0 || got.Failed != 0 {
				t.Errorf("of a PVC that is gone: %+v", got)
			}
		})
	}
}

// Contract: STAT-22.
func TestWhatSnapshotsShowEndsWithTheCommandThatHelps(t *testing.T) {
	at := func(age time.Duration) retention.Snapshot {
		return retention.Snapshot{Name: "data-1", Created: ago(age)}
	}
	uncut, cut, going := at(2*time.Hour), at(2*time.Hour), at(20*time.Hour)
	erring := uncut
	erring.HasError = true
	cut.HasCutTime, going.HasCutTime, going.Deleting = true, true, true
	slots := schedule.Slots{Previous: ago(12 * time.Hour), Latest: ago(6 * time.Hour), Current: ago(6 * time.Hour)}
	const one, group = "", "db"
	const silent = ", and no error is reported; the logs of the snapshot controller and of the driver's csi-snapshotter may say why"
	for name, tc := range map[string]struct {
		group     string
		snapshots []retention.Snapshot
		take      retention.Take
		want      []string
	}{
		"failed": {one, []retention.Snapshot{uncut}, retention.Take{},
			[]string{"VolumeSnapshot data-1 is not ready 1h0m0s after it was created" + silent + ": kubectl describe -n 'shop' volumesnapshot 'data-1'"}},
		"failed, in error": {one, []retention.Snapshot{erring}, retention.Take{},
			[]string{"VolumeSnapshot data-1 is not ready 1h0m0s after it was created: kubectl describe -n 'shop' volumesnapshot 'data-1'"}},
		"of a group": {group, []retention.Snapshot{erring}, retention.Take{},
			[]string{"VolumeGroupSnapshot data-1 is not ready 1h0m0s after it was created: kubectl describe -n 'shop' volumegroupsnapshot 'data-1'"}},
		"nothing was taken":            {one, nil, retention.Take{}, []string{overdueMessage + "; to take one now: kubectl snapsched snapshot -n 'shop' --pvc='data'"}},
		"nothing was taken of a group": {group, nil, retention.Take{}, []string{overdueMessage + "; to take one now: kubectl snapsched snapshot -n 'shop' 'nightly'"}},
		"slow": {one, []retention.Snapshot{cut}, retention.Take{Block: retention.BlockedInProgress, Due: true}, []string{
			"VolumeSnapshot data-1 is cut but not ready, and the next one waits for it" + silent + ": kubectl describe -n 'shop' volumesnapshot 'data-1'",
		}},
		"blocked by one that is being deleted": {one, []retention.Snapshot{going}, retention.Take{Block: retention.BlockedUncut}, []string{
			overdueMessage + "; VolumeSnapshot data-1 blocks it and is being deleted: kubectl describe -n 'shop' volumesnapshot 'data-1'",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			slots := slots
			if tc.take.Block == retention.BlockedInProgress {
				slots.Previous = time.Time{}
			}
			s := every("6h").named("nightly").SnapshotSchedule
			of := subject{group: tc.group, claims: []*corev1.PersistentVolumeClaim{claim("data").PersistentVolumeClaim}, slots: slots}
			of.backups.Whole.Snapshots, of.decided.Take = tc.snapshots, tc.take
			p := &program{schedule: s, spec: &compiled{retention: retention.Policy{ReadyDeadline: time.Hour}}}
			status := &keyStatus{}
			status.find([]rule{snapshotFailed, snapshotSlow, snapshotOverdue}, observed{program: p, of: &of, seen: mapcontroller.Observation{Now: noon}})
			var got []string
			for _, p := range status.Problems {
				got = append(got, p.Message)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// A command is whole, or is left out: names have up to 253 characters.
//
// Contract: STAT-22.
func TestNoProblemHasAPartOfACommand(t *testing.T) {
	long := strings.Repeat("x", 253)
	uncut := retention.Snapshot{Name: long, Created: ago(2 * time.Hour)}
	cut := uncut
	cut.HasCutTime = true
	of := func(s retention.Snapshot, take retention.Take) []Problem {
		of, status := subject{claims: []*corev1.PersistentVolumeClaim{claim("data").PersistentVolumeClaim}, slots: schedule.Slots{Current: ago(6 * time.Hour)}}, &keyStatus{}
		of.backups.Whole.Snapshots, of.decided.Take = []retention.Snapshot{s}, take
		p := &program{schedule: every("6h").SnapshotSchedule, spec: &compiled{retention: retention.Policy{ReadyDeadline: time.Hour}}}
		status.find([]rule{snapshotFailed, snapshotSlow}, observed{program: p, of: &of, seen: mapcontroller.Observation{Now: noon}})
		return status.Problems
	}
	b := strings.Repeat("b", 60)
	losing := group(time.Hour, "a "+b, "a "+b).with(func(m []client.Object) { markDeleting(m[1]) })
	losing.Name = long
	for _, m := range losing.members {
		m.SetLabels(map[string]string{v1alpha1.LabelGroupSnapshot: long})
		m.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: groupv1.SchemeGroupVersion.String(), Kind: "VolumeGroupSnapshot", Name: long, UID: losing.UID}})
	}
	lost := groupCase{
		schedule: every("6h").grouped().named(long), claims: []claimBuilder{claim("a"), claim(b)}, groups: []groupBuilder{losing},
	}
	for name, tc := range map[string]struct {
		reason   string
		problems []Problem
	}{
		"failed": {v1alpha1.ReasonSnapshotFailed, of(uncut, retention.Take{})},
		"slow":   {v1alpha1.ReasonSnapshotSlow, of(cut, retention.Take{Block: retention.BlockedInProgress, Due: true})},
		"lost":   {v1alpha1.ReasonMemberDeleted, statusOf(lost.decide(t)).Problems},
	} {
		if p := tc.problems; len(p) != 1 || p[0].Reason != tc.reason || strings.Contains(p[0].Message, "kubectl") || strings.HasSuffix(p[0].Message, "…") {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// Requests on a schedule that a ClusterSnapshotSchedule owns count for nothing.
//
// Contract: STAT-22, FLEET-9.
func TestAnOverdueChildNamesTheRequestThatCounts(t *testing.T) {
	plain := func() scheduleBuilder { return every("6h").deadline("1h") }
	const own, fleets = "kubectl snapsched snapshot -n 'shop' --pvc='data'", "kubectl snapsched snapshot --cluster-schedule='backup'"
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		fleet    []client.Object
		want     string
	}{
		"an ordinary schedule's":       {plain(), nil, own},
		"a child's":                    {plain().owned(), templateOf(plain()).objects(), fleets},
		"a child's, without its owner": {plain().owned().orphaned(), templateOf(plain()).objects(), fleets},
		"one of the name, never owned": {plain(), templateOf(plain()).objects(), own},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapCase{schedule: tc.schedule, governors: tc.fleet, snapshots: series{ready(13 * time.Hour)}}
			problems := statusOf(m.decider(t)(m.observe())).Problems
			if want := overdueMessage + "; to take one now: " + tc.want; len(problems) != 1 || problems[0].Message != want {
				t.Errorf("got %s, want %s", toJSON(problems), want)
			}
		})
	}
}
