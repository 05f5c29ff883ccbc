// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

var (
	anchor = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	terms  = Terms{
		Interval: 5 * time.Second, TTL: 20 * time.Second,
		ScheduleUID: "s", ScheduleCreated: anchor, Selected: []string{"a", "b"},
	}
)

// wellAt is the world as it should be some time after the schedule was created:
// two selected PVCs, and one that is not.
func wellAt(after time.Duration) record.World {
	now := anchor.Add(after)
	w := record.World{Now: now}
	for _, name := range []string{"a", "b", "other"} {
		w.Claims = append(w.Claims, record.Claim{
			Name: name, UID: types.UID("uid-" + name), Bound: true, Created: anchor.Add(-time.Minute),
		})
	}
	usable := int32(0)
	for _, claim := range terms.Selected {
		for slot := anchor; !slot.After(now); slot = slot.Add(terms.Interval) {
			s := record.Snapshot{
				Name: fmt.Sprintf("%s-%d", claim, slot.Unix()), UID: types.UID(fmt.Sprintf("%s-%d", claim, slot.Unix())),
				Claim: claim, MapKey: "uid-" + claim, Owner: "s",
				Slot: slot, Created: slot, Cut: true, Ready: true, ReadyAt: slot.Add(time.Second),
			}
			if gone := slot.Add(terms.TTL); gone.Before(now) {
				s.Deleted, s.Gone = gone, gone.Add(time.Second)
			} else {
				w.Contents++
				usable++
			}
			w.Snapshots = append(w.Snapshots, s)
		}
	}
	w.Schedule = &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	status := &w.Schedule.Status
	status.ObservedGeneration = 2
	status.Inputs.PersistentVolumeClaims.Total = 2
	status.Outputs.VolumeSnapshots.Ready = usable
	status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonScheduled,
	}}
	return w
}

// well is after 32 seconds: of each PVC, seven were taken and three have gone.
func well() record.World { return wellAt(32 * time.Second) }

// snapshot finds the snapshot of a PVC by the number of its slot.
func snapshot(w *record.World, claim string, slot int) *record.Snapshot {
	at := anchor.Add(time.Duration(slot) * terms.Interval)
	for i := range w.Snapshots {
		if s := &w.Snapshots[i]; s.Claim == claim && s.Slot.Equal(at) {
			return s
		}
	}
	panic(fmt.Sprintf("no snapshot %d of %s", slot, claim))
}

func drop(w *record.World, gone *record.Snapshot) {
	for i := range w.Snapshots {
		if &w.Snapshots[i] == gone {
			w.Snapshots = append(w.Snapshots[:i:i], w.Snapshots[i+1:]...)
			return
		}
	}
}

// trial changes a world that is well, and tells what the check then says.
type trial struct {
	name   string
	change func(*record.World)
	// fault is a part of what is seen to be wrong; empty if all is well.
	fault string
}

func try(t *testing.T, holds func(record.World) Result, trials ...trial) {
	t.Helper()
	for _, c := range trials {
		t.Run(c.name, func(t *testing.T) {
			w := well()
			c.change(&w)
			r := holds(w)
			if r.Name == "" || r.Expected == "" || r.Seen == "" {
				t.Errorf("a result says what was checked, expected and seen: %+v", r)
			}
			if r.OK != (c.fault == "") {
				t.Fatalf("OK is %v: %s", r.OK, r.Seen)
			}
			if !strings.Contains(r.Seen, c.fault) {
				t.Errorf("seen is %q, without %q", r.Seen, c.fault)
			}
		})
	}
}

func asItIs(*record.World) {}
