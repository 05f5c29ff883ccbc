// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/inflight"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/execute"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// inFlight asks the gate about every create, and tells it what becomes of snapshots.
type inFlight struct {
	clock  clock.PassiveClock
	stores *Stores
	// enqueue enqueues a key after a delay.
	enqueue func(mapcontroller.Request, time.Duration)

	mu   sync.Mutex
	gate *inflight.Gate
	// creating are the names of snapshots that were admitted in a pass which has not
	// ended.
	creating map[mapcontroller.Request]string
}

func newInFlight(o Options, limit int) *inFlight {
	return &inFlight{
		clock: o.Clock, stores: o.Stores, gate: inflight.NewGate(limit), creating: map[mapcontroller.Request]string{},
		enqueue: func(mapcontroller.Request, time.Duration) {},
	}
}

// turn is what a slot without a snapshot waits for, or waited for.
type turn struct {
	slot   time.Time
	driver string
	// since is the time from which the PVC lacks a snapshot.
	since time.Time
	// late is set if the slot is too old to be taken.
	late bool
}

// turnOf returns the turn of a slot that is due. A PVC lacks a snapshot since its last
// slot or, without one, its anchor.
func turnOf(claim *corev1.PersistentVolumeClaim, slot, last, anchor time.Time) *turn {
	if last.IsZero() {
		last = anchor
	}
	return &turn{slot: slot, driver: driverOf(claim), since: last}
}

// with changes the gate, and wakes the keys whose turn it is.
func (f *inFlight) with(change func(now time.Time) []inflight.Wake) {
	f.mu.Lock()
	wake := change(f.clock.Now())
	f.mu.Unlock()
	for _, w := range wake {
		f.enqueue(w.Request, w.After)
	}
}

// admission implements the engine's Admission.
func (f *inFlight) admission(enqueue func(mapcontroller.Request, time.Duration)) func(mapcontroller.Request, mapcontroller.Plan) bool {
	f.enqueue = enqueue
	return f.admit
}

func (f *inFlight) admit(req mapcontroller.Request, p mapcontroller.Plan) (admitted bool) {
	status, _ := p.Key.Status.(*keyStatus)
	if len(p.Create) == 0 || status == nil || status.turn == nil {
		f.with(func(now time.Time) []inflight.Wake { return f.gate.Leave(now, req) })
		return true
	}
	s := f.snapshot(p.Create[0], req.Parent)
	s.Driver = status.turn.driver
	f.with(func(now time.Time) (wake []inflight.Wake) {
		if admitted, wake = f.gate.Ask(now, req, s, status.turn.since); admitted {
			f.creating[req] = s.Name
		}
		return wake
	})
	return admitted
}

// The examples of the kinds that are looked up.
var (
	anyClaim    = &corev1.PersistentVolumeClaim{}
	anySchedule = &v1alpha1.SnapshotSchedule{}
)

// snapshot returns what the gate needs to know of a snapshot, without its driver.
func (f *inFlight) snapshot(o client.Object, parent types.NamespacedName) inflight.Snapshot {
	s := inflight.Snapshot{Namespace: o.GetNamespace(), Name: o.GetName(), ReadyDeadline: defaultReadyDeadline}
	if found, ok := f.stores.Get(anySchedule, parent).(*v1alpha1.SnapshotSchedule); ok {
		if deadline, err := schedule.ParseDuration(string(found.Spec.ReadyDeadline)); err == nil {
			s.ReadyDeadline = deadline
		}
	}
	return s
}

// observed is called for each event of a snapshot.
func (f *inFlight) observed(parent types.NamespacedName, before, after client.Object) {
	gone := before
	if v, ok := after.(*snapshotv1.VolumeSnapshot); ok {
		if s := snapshotOf(v); s.Uncut() && !s.Deleting {
			f.show(parent, v)
			return
		}
		gone = v
	}
	f.with(func(now time.Time) []inflight.Wake { return f.gate.Remove(now, gone.GetNamespace(), gone.GetName()) })
}

func (f *inFlight) show(parent types.NamespacedName, v *snapshotv1.VolumeSnapshot) {
	s := f.snapshot(v, parent)
	if claim, ok := f.stores.Get(anyClaim, client.ObjectKey{Namespace: v.Namespace, Name: claimName(v)}).(*corev1.PersistentVolumeClaim); ok {
		s.Driver = driverOf(claim)
	}
	f.with(func(now time.Time) []inflight.Wake { return f.gate.Show(now, v.CreationTimestamp.Time, s) })
}

// reported is called after each pass.
func (f *inFlight) reported(req mapcontroller.Request, outcome mapcontroller.Outcome) {
	f.with(func(now time.Time) []inflight.Wake {
		name, admitted := f.creating[req]
		delete(f.creating, req)
		switch {
		case !admitted || len(outcome.Created) > 0:
			return nil
		case slices.ContainsFunc(outcome.Failed, refusedCreate):
			return f.gate.Refused(now, req.Parent.Namespace, name)
		}
		return f.gate.Unsure(now, req.Parent.Namespace, name)
	})
}

// forget is called after a schedule is deleted.
func (f *inFlight) forget(parent types.NamespacedName) {
	f.with(func(now time.Time) []inflight.Wake { return f.gate.ParentDeleted(now, parent) })
}

// refusedCreate returns whether a write is a create that has certainly created nothing.
// After a time-out, or an error of the server, the snapshot may exist.
func refusedCreate(f mapcontroller.Failure) bool {
	if f.Verb != execute.VerbCreate {
		return false
	}
	status := apierrors.APIStatus(nil)
	return errors.Is(f.Err, execute.ErrNameCollision) || errors.As(f.Err, &status) && status.Status().Code/100 == 4
}

// judgeTurn keeps the turn of a slot that waits for it, or that waited until it was too
// old, which is a problem.
func (k *keyStatus) judgeTurn(before *keyStatus, outcome mapcontroller.Outcome) {
	switch t := k.turn; {
	case t == nil:
	case t.late && before.turn != nil && before.turn.slot.Equal(t.slot):
		t.driver = before.turn.driver
		if !slices.ContainsFunc(k.Problems, isOverdue) {
			k.add(Problem{Reason: v1alpha1.ReasonSnapshotOverdue, Message: "a slot became too old while it waited: " + waitedMessage(t.driver)})
		}
	case t.late || !outcome.Queued:
		k.turn = nil
	default: // what its creates failed for has not changed
		for _, p := range before.Problems {
			if p.Reason == v1alpha1.ReasonCreateFailed || p.Reason == v1alpha1.ReasonNameCollision {
				k.add(p)
			}
		}
	}
}

func isOverdue(p Problem) bool { return p.Reason == v1alpha1.ReasonSnapshotOverdue }

func waitedMessage(driver string) string {
	return fmt.Sprintf("too many snapshots of driver %s are not cut yet, see --max-in-flight-per-driver", driver)
}

// waits returns whether a PVC waits for its turn.
func (k *keyStatus) waits() bool { return k.turn != nil && !k.turn.late }

// waitingText counts the PVCs that wait for their turn.
func waitingText(sum combined) string {
	if sum.Waiting == 0 {
		return ""
	}
	drivers := "driver "
	if len(sum.WaitingFor) > 1 {
		drivers = "drivers "
	}
	return fmt.Sprintf(", %d waiting for their turn (%s%s)", sum.Waiting, drivers, report.List(sum.WaitingFor, maxDrivers))
}
