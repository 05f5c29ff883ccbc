// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// mapCase is a row of a table about Map, or about Tombstone if tombstone is set.
type mapCase struct {
	governors []client.Object
	schedule  scheduleBuilder
	claim     claimBuilder // default: claim("data")
	tombstone bool
	gone      bool // the PVC is deleted; implies tombstone
	snapshots series
	restoring []string // snapshots that PVCs are being restored from
	classes   classes

	wantCreate   time.Time // slot; zero: none
	wantDelete   []string
	wantReason   string   // of every delete; empty: any
	wantEvidence []string // nil: any
	wantProblem  string   // reasons
	wantSkip     string
	wantNext     time.Time // zero: any
}

// never as wantNext means that time alone changes nothing.
var never = time.Unix(1, 0)

func (tc *mapCase) observe() mapcontroller.Observation {
	if tc.claim.PersistentVolumeClaim == nil {
		tc.claim = claim("data")
	}
	seen := mapcontroller.Observation{Now: noon, MapKey: string(tc.claim.UID), Outputs: tc.snapshots.objects()}
	switch inputs := []client.Object{tc.claim.PersistentVolumeClaim}; {
	case tc.gone:
	case tc.tombstone:
		seen.Unselected = inputs
	default:
		seen.Selected = inputs
	}
	seen.Related = tc.classes
	for _, name := range tc.restoring {
		restore := claim("restore-of-"+name).created(ago(59*time.Minute)).phase(corev1.ClaimPending).from(snapshotv1.GroupName, "VolumeSnapshot", name)
		seen.Related = append(seen.Related, restore.PersistentVolumeClaim)
	}
	return seen
}

// decider returns the compiled Map or Tombstone.
func (tc *mapCase) decider(t interface{ Fatal(...any) }) func(mapcontroller.Observation) mapcontroller.Decision {
	compiled, err := Compile(tc.schedule.SnapshotSchedule, tc.governors...)
	if err != nil {
		t.Fatal(err)
	}
	if tc.tombstone || tc.gone {
		return compiled.Tombstone
	}
	return compiled.Map
}

// statusOf returns the key status of a decision, an empty one if it has none.
func statusOf(d mapcontroller.Decision) *keyStatus {
	if d.Status == nil {
		return &keyStatus{}
	}
	return d.Status.(*keyStatus)
}

// slotsOf returns the slots of the snapshots to create.
func slotsOf(d mapcontroller.Decision) (slots []time.Time) {
	for _, want := range d.Ensure {
		slots = append(slots, backup.SlotOf(want.Object))
	}
	return slots
}

// deletesOf returns the names of the snapshots to delete.
func deletesOf(d mapcontroller.Decision) (names []string) {
	for _, r := range d.Delete {
		names = append(names, r.Object.GetName())
	}
	slices.Sort(names)
	return names
}

func runMap(t *testing.T, tests map[string]mapCase) {
	t.Helper()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { tc.check(t, tc.decider(t)(tc.observe())) })
	}
}

func (tc *mapCase) check(t *testing.T, got mapcontroller.Decision) {
	t.Helper()
	var wantCreate []time.Time
	if !tc.wantCreate.IsZero() {
		wantCreate = []time.Time{tc.wantCreate}
	}
	if created := slotsOf(got); !slices.EqualFunc(created, wantCreate, time.Time.Equal) {
		t.Errorf("creates for slots %v, want %v", created, wantCreate)
	}
	slices.Sort(tc.wantDelete)
	if deleted := deletesOf(got); !slices.Equal(deleted, tc.wantDelete) {
		t.Errorf("deletes %v, want %v", deleted, tc.wantDelete)
	}
	for _, r := range got.Delete {
		if r.Reason == "" || (tc.wantReason != "" && r.Reason != tc.wantReason) {
			t.Errorf("deletes %s for the reason %q, want %q", r.Object.GetName(), r.Reason, tc.wantReason)
		}
	}
	var evidence []string
	for _, o := range got.Evidence {
		evidence = append(evidence, o.GetName())
	}
	if tc.wantEvidence != nil && !slices.Equal(evidence, tc.wantEvidence) {
		t.Errorf("evidence is %v, want %v", evidence, tc.wantEvidence)
	}
	status := statusOf(got)
	var reasons []string
	for _, p := range status.Problems {
		reasons = append(reasons, p.Reason)
		if p.Claim != tc.claim.Name {
			t.Errorf("problem is of PVC %q, want %q", p.Claim, tc.claim.Name)
		}
	}
	if strings.Join(reasons, " ") != tc.wantProblem {
		t.Errorf("problems are %v, want %q", status.Problems, tc.wantProblem)
	}
	if string(status.SkipReason) != tc.wantSkip {
		t.Errorf("skipped as %q, want %q", status.SkipReason, tc.wantSkip)
	}
	switch {
	case tc.wantNext.Equal(never):
		if !got.Next.IsZero() {
			t.Errorf("next is %v, want never", got.Next)
		}
	case !tc.wantNext.IsZero() && !got.Next.Equal(tc.wantNext):
		t.Errorf("next is %v, want %v", got.Next, tc.wantNext)
	}
}

// Contract: MAP-11.
func TestMapSkips(t *testing.T) {
	runMap(t, map[string]mapCase{
		"Pending":       {schedule: every("6h"), claim: claim("data").phase(corev1.ClaimPending), wantSkip: "not Bound"},
		"Lost":          {schedule: every("6h"), claim: claim("data").phase(corev1.ClaimLost), wantSkip: "its volume is lost", wantProblem: v1alpha1.ReasonClaimLost},
		"no phase yet":  {schedule: every("6h"), claim: claim("data").phase(""), wantSkip: "not Bound"},
		"being deleted": {schedule: every("6h"), claim: claim("data").deleting(), wantSkip: "being deleted"},
		"being deleted and not Bound": {
			schedule: every("6h"), claim: claim("data").deleting().phase(corev1.ClaimLost), wantSkip: "being deleted",
		},
		"not Bound, whatever is requested": {
			schedule: every("6h").requested(rfc3339(ago(time.Second))), claim: claim("data").phase(corev1.ClaimPending),
			wantSkip: "not Bound",
		},
		"retention continues, with the floor": {
			schedule: every("6h").ttl("1h"), claim: claim("data").phase(corev1.ClaimLost),
			snapshots:  series{ready(2 * time.Hour), ready(3 * time.Hour)},
			wantDelete: []string{"3h0m0s"}, wantEvidence: []string{"2h0m0s"}, wantSkip: "its volume is lost", wantProblem: v1alpha1.ReasonClaimLost,
		},
		"reports no problem of a PVC that cannot be snapshotted": {
			schedule: every("6h"), claim: claim("data").phase(corev1.ClaimPending),
			snapshots: series{uncut(2 * time.Hour)}, wantSkip: "not Bound",
		},
	})
}

// Contract: RET-7, GUARD-4.
func TestMapRetention(t *testing.T) {
	runMap(t, map[string]mapCase{
		"deletes the expired one, and the floor that stays is the evidence": {
			schedule: every("6h").ttl("5h"), snapshots: series{ready(7 * time.Hour), ready(time.Hour)},
			wantDelete: []string{"7h0m0s"}, wantReason: "Expired", wantEvidence: []string{"1h0m0s"}, wantNext: in(4 * time.Hour),
		},
		"the floor counts ready ones only": {
			schedule: every("6h").ttl("5h"), snapshots: series{uncut(time.Hour), ready(7 * time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotFailed,
		},
		"a floor of zero needs no evidence": {
			schedule: every("6h").ttl("5h").minReady(0), snapshots: series{ready(7 * time.Hour), ready(time.Hour)},
			wantDelete: []string{"7h0m0s"}, wantEvidence: []string{},
		},
		"an older verified one stays, and is evidence as well": {
			schedule:   every("6h").ttl("5h").minVerified(1),
			snapshots:  series{ready(time.Hour), ready(7 * time.Hour), ready(13 * time.Hour).verified(rfc3339(ago(day)))},
			wantDelete: []string{"7h0m0s"}, wantReason: "Expired", wantEvidence: []string{"1h0m0s", "13h0m0s"},
		},
		"it goes once a newer one is verified": {
			schedule:   every("6h").ttl("5h").minVerified(1),
			snapshots:  series{ready(time.Hour).verified(rfc3339(noon)), ready(13 * time.Hour).verified(rfc3339(ago(day)))},
			wantDelete: []string{"13h0m0s"}, wantReason: "Expired", wantEvidence: []string{"1h0m0s"},
		},
		"keeps one held by annotation, whatever its value": {
			schedule: every("6h").ttl("5h"), snapshots: series{ready(7 * time.Hour).held(), ready(time.Hour)},
		},
		"keeps one held by a restore, and checks again soon": {
			schedule: every("6h").ttl("5h"), snapshots: series{ready(7 * time.Hour), ready(time.Hour)},
			restoring: []string{"7h0m0s"}, wantNext: in(restoreCheck),
		},
		"deletes beyond maxCount": {
			schedule: every("6h").maxCount(2), snapshots: series{ready(time.Hour), ready(7 * time.Hour), ready(13 * time.Hour)},
			wantDelete: []string{"13h0m0s"}, wantReason: "OverCap",
		},
		"does not delete again what is being deleted": {
			schedule: every("6h").ttl("5h"), snapshots: series{ready(7 * time.Hour).deleting(), ready(time.Hour)},
		},
		"continues while suspended": {
			schedule: every("6h").ttl("5h").suspended(), snapshots: series{ready(7 * time.Hour), ready(time.Hour)},
			wantDelete: []string{"7h0m0s"},
		},
		"creates and deletes in one decision": {
			schedule: every("6h").ttl("5h"), snapshots: series{ready(13 * time.Hour), ready(7 * time.Hour)},
			wantCreate: ago(time.Hour), wantDelete: []string{"13h0m0s"},
		},
	})
}

// A PVC that is skipped has no recovery point.
//
// Contract: MET-5.
func TestMapRecoveryPoint(t *testing.T) {
	anchor := claim("data").CreationTimestamp.Time
	for name, tc := range map[string]struct {
		claim     claimBuilder
		snapshots series
		want      time.Time
	}{
		"bound":         {claim("data"), series{ready(2 * time.Hour), ready(3 * time.Hour)}, ago(2 * time.Hour)},
		"none ready":    {claim("data"), series{uncut(time.Minute)}, anchor},
		"lost":          {claim("data").phase(corev1.ClaimLost), series{ready(2 * time.Hour)}, time.Time{}},
		"being deleted": {claim("data").deleting(), series{ready(2 * time.Hour)}, time.Time{}},
		"pending":       {claim("data").phase(corev1.ClaimPending), nil, time.Time{}},
		"new":           {claim("data").phase(""), nil, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := mapCase{schedule: every("6h"), claim: tc.claim, snapshots: tc.snapshots}
			if got := combine(keys(statusOf(c.decider(t)(c.observe())))).RecoveryPoint; !got.Equal(tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
