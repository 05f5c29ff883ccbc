// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// Two lives of one PVC under a child differ only in what a tenant writes to the child. With these edits the
// same snapshots are taken at the same times, and none is deleted that is kept without them.
//
// Contract: FLEET-10, FLEET-13.
func TestEditsOfATenantMissNoSlotAndDeleteNothingEarlier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := rapid.SampledFrom([]v1alpha1.Duration{"1h", "6h", "1d"}).Draw(t, "interval")
		child := func() scheduleBuilder { return every(interval).selecting("db").maxCount(3).owned() }
		fleet := templateOf(child())
		of := claim("data").of(testDriver).with(func(c *corev1.PersistentVolumeClaim) { c.Labels = map[string]string{"app": "db"} })
		simulation := func() *claimSimulation {
			return &claimSimulation{schedule: child(), claim: of.PersistentVolumeClaim, governors: fleet.objects()}
		}
		untouched, edited, gone := simulation(), simulation(), map[string]bool{}
		now := ago(8 * day)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 10*3600).Draw(t, "seconds")) * time.Second)
			if rapid.IntRange(0, 9).Draw(t, "request") == 0 {
				fleet.requested(rfc3339(now))
			}
			drawTenantEdit(t, edited.schedule, fleet, now)
			for _, name := range untouched.pass(t, now) {
				gone[name] = true
			}
			for _, name := range edited.pass(t, now) {
				if !gone[name] {
					t.Fatalf("at %v: %s is deleted only with the edits, under %s", now, name, toJSON(edited.schedule.Spec))
				}
			}
			for _, o := range edited.snapshots {
				if !gone[o.GetName()] && !contains(untouched.snapshots, o) {
					t.Fatalf("at %v: %s is taken only with the edits, under %s", now, o.GetName(), toJSON(edited.schedule.Spec))
				}
			}
			for _, o := range untouched.snapshots {
				if !contains(edited.snapshots, o) {
					t.Fatalf("at %v: %s is missing with the edits, under %s", now, o.GetName(), toJSON(edited.schedule.Spec))
				}
			}
		}
	})
}

func contains(all []client.Object, o client.Object) bool {
	return slices.ContainsFunc(all, func(other client.Object) bool { return other.GetName() == o.GetName() })
}

// drawTenantEdit changes whatever a tenant may change of a child, or puts its spec back.
func drawTenantEdit(t *rapid.T, s scheduleBuilder, f fleetBuilder, now time.Time) {
	edits := []string{"interval", "cron", "count", "request", "confirm", "owner", "adopt", "labels", "selector", "suspend", "policy", "invalid", "back", "back"}
	switch rapid.SampledFrom(edits).Draw(t, "what") {
	case "interval":
		s.Spec.SnapshotInterval, s.Spec.Schedule = "1s", ""
	case "cron":
		s.Spec.SnapshotInterval, s.Spec.Schedule = "", "* * * * *"
	case "count":
		s.maxCount(1).minReady(0)
	case "request":
		s.requested(rfc3339(now))
	case "confirm":
		s.confirming("3")
	case "owner":
		s.OwnerReferences = nil
	case "adopt": // by something else
		s.controlled(func(r *metav1.OwnerReference) { r.Kind, r.UID = "Tenant", "tenant-uid" })
	case "labels":
		s.Labels = nil
	case "selector":
		s.selecting("none")
	case "suspend":
		s.Spec.Suspend = !s.Spec.Suspend
	case "policy":
		s.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
	case "invalid":
		s.Spec.SnapshotInterval, s.Spec.Schedule = "", "x"
	case "back":
		s.Spec = *f.Spec.Template.Spec.DeepCopy()
	}
}

// A schedule that merely has the name of a ClusterSnapshotSchedule takes the same snapshots whatever becomes of
// the label of its namespace, of the template and of its age, and deletes none earlier.
//
// Contract: FLEET-13.
func TestAScheduleThatWasNeverOwnedTakesByItsOwnSpec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		own := every(rapid.SampledFrom([]v1alpha1.Duration{"1h", "6h"}).Draw(t, "interval")).maxCount(3)
		fleet := templateOf(every(rapid.SampledFrom([]v1alpha1.Duration{"1h", "4w"}).Draw(t, "template")))
		fleet.CreationTimestamp = metav1.NewTime(rapid.SampledFrom([]time.Time{ago(300 * day), ago(day)}).Draw(t, "fleet's age"))
		simulation := func() *claimSimulation {
			return &claimSimulation{schedule: own, claim: claim("data").of(testDriver).PersistentVolumeClaim}
		}
		alone, beside, gone := simulation(), simulation(), map[string]bool{}
		now := ago(8 * day)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 10*3600).Draw(t, "seconds")) * time.Second)
			switch rapid.SampledFrom([]string{"none", "unselected", "selected", "request"}).Draw(t, "fleet") {
			case "none":
				beside.governors = nil
			case "unselected":
				fleet.unselected()
				beside.governors = fleet.objects()
			case "selected":
				fleet.namespace.Labels = map[string]string{"backup": "gold"}
				beside.governors = fleet.objects()
			case "request":
				own.requested(rfc3339(now))
			}
			for _, name := range alone.pass(t, now) {
				gone[name] = true
			}
			for _, name := range beside.pass(t, now) {
				if !gone[name] {
					t.Fatalf("at %v: %s is deleted only beside the fleet", now, name)
				}
			}
			for _, o := range alone.snapshots {
				if !contains(beside.snapshots, o) {
					t.Fatalf("at %v: %s is missing beside the fleet", now, o.GetName())
				}
			}
		}
	})
}

// Contract: FLEET-13, STAT-5.
func TestALabelOnANamespaceStopsNoBackups(t *testing.T) {
	own, c := every("1h").created(ago(5*day)), claim("data")
	fleet := templateOf(every("4w"))
	fleet.CreationTimestamp = metav1.NewTime(ago(300 * day))
	p, err := Compile(own.SnapshotSchedule, fleet.objects()...)
	must(t, err)
	outputs := series{ready(time.Hour), ready(2 * time.Hour)}.objects()
	const hours = 21 * 24
	for hour := range hours {
		now := in(time.Duration(hour) * time.Hour)
		d := p.Map(mapcontroller.Observation{Now: now, MapKey: string(c.UID), Selected: []client.Object{c.PersistentVolumeClaim}, Outputs: outputs})
		for _, want := range d.Ensure {
			v := ready(0).named(want.Object.GetName()).created(now).scheduledAt(backup.SlotText(want.Object))
			outputs = append(outputs, v.VolumeSnapshot)
		}
	}
	if taken := len(outputs) - 2; taken != hours {
		t.Errorf("%d snapshots are taken in %d hours", taken, hours)
	}
}
