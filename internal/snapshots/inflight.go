// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/inflight"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// inFlight asks the gate about every create, and tells it what becomes of snapshots.
type inFlight struct {
	clock  clock.PassiveClock
	stores *Stores
	// enqueue enqueues a key after a delay.
	enqueue func(mapcontroller.Request, time.Duration)

	// classesKnown is set if VolumeSnapshotClasses are read.
	classesKnown bool

	mu   sync.Mutex
	gate *inflight.Gate
	// creating are the names of snapshots that were admitted in a pass which has not
	// ended.
	creating map[mapcontroller.Request]string
}

func newInFlight(o Options, limit int) *inFlight {
	return &inFlight{
		clock: o.Clock, stores: o.Stores, gate: inflight.NewGate(limit), creating: map[mapcontroller.Request]string{},
		classesKnown: len(o.Namespaces) == 0, // else Roles must suffice
		enqueue:      func(mapcontroller.Request, time.Duration) {},
	}
}

// turnOf returns the turn of a slot that is due. A PVC lacks a snapshot since its last
// slot or, without one, its anchor.
func (p *program) turnOf(
	claim *corev1.PersistentVolumeClaim, class *string, slot, last, anchor time.Time, seen mapcontroller.Observation,
) *turn {
	if last.IsZero() {
		last = anchor
	}
	classes := Classes{Known: p.classesKnown, All: seen.Related}
	return &turn{slot: slot, driver: classes.limitedBy(claim, &p.schedule.Spec.SnapshotTemplate.Spec, class), since: last}
}

// with changes the gate, and wakes the keys whose turn it is.
func (f *inFlight) with(change func(now time.Time) []inflight.Wake) {
	f.mu.Lock()
	wake := change(f.clock.Now())
	f.mu.Unlock()
	for _, w := range wake {
		f.enqueue(mapcontroller.Request(w.Request), w.After)
	}
}

// admission implements the engine's Admission.
func (f *inFlight) admission(
	enqueue func(mapcontroller.Request, time.Duration),
) func(mapcontroller.Request, mapcontroller.Plan, []client.Object) bool {
	f.enqueue = enqueue
	return f.admit
}

// admit counts the uncut snapshots of a key once more: its PVC, its schedule and the
// classes may be seen later than they, and change. Each of that leads to another pass.
func (f *inFlight) admit(req mapcontroller.Request, p mapcontroller.Plan, outputs []client.Object) (admitted bool) {
	for _, o := range outputs {
		// Of what lost its map key, only the metadata is known.
		if v, ok := o.(*snapshotv1.VolumeSnapshot); ok && v.DeletionTimestamp == nil && isUncut(v) {
			f.count(req.Parent, v)
		}
	}
	status, _ := p.Key.Status.(*keyStatus)
	if len(p.Create) == 0 || status == nil || status.turn == nil {
		f.with(func(now time.Time) []inflight.Wake {
			delete(f.creating, req)
			return f.gate.Leave(now, inflight.Request(req))
		})
		return true
	}
	s := inflight.Snapshot{Namespace: req.Parent.Namespace, Name: p.Create[0].GetName(), Schedule: req.Parent.Name}
	s.Driver, s.ReadyDeadline = string(status.turn.driver), f.readyDeadline(f.schedule(req.Parent))
	f.with(func(now time.Time) (wake []inflight.Wake) {
		if admitted, wake = f.gate.Ask(now, inflight.Request(req), s, status.turn.since); admitted {
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
	anySnapshot = &snapshotv1.VolumeSnapshot{}
	anyClass    = &snapshotv1.VolumeSnapshotClass{}
)

func (f *inFlight) schedule(name types.NamespacedName) *v1alpha1.SnapshotSchedule {
	s, _ := f.stores.Get(anySchedule, name).(*v1alpha1.SnapshotSchedule)
	return s
}

func (f *inFlight) readyDeadline(s *v1alpha1.SnapshotSchedule) time.Duration {
	if s != nil {
		if deadline, err := schedule.ParseDuration(string(s.Spec.ReadyDeadline)); err == nil {
			return deadline
		}
	}
	return defaultReadyDeadline
}

// observed is called for each event of a snapshot.
func (f *inFlight) observed(parent types.NamespacedName, before, after client.Object) {
	if v, ok := after.(*snapshotv1.VolumeSnapshot); ok && v.DeletionTimestamp == nil && isUncut(v) {
		f.count(parent, v)
		return
	}
	gone := after
	if gone == nil {
		gone = before
	}
	f.with(func(now time.Time) []inflight.Wake { return f.gate.Remove(now, gone.GetNamespace(), gone.GetName()) })
}

// count tells the gate whether an uncut snapshot counts.
func (f *inFlight) count(parent types.NamespacedName, v *snapshotv1.VolumeSnapshot) {
	s, counts := f.made(parent, v)
	f.with(func(now time.Time) []inflight.Wake {
		if counts {
			return f.gate.Show(now, v.CreationTimestamp.Time, s)
		}
		return f.gate.Remove(now, v.Namespace, v.Name)
	})
}

// made returns what the gate needs to know of a snapshot; not ok unless the operator made
// it: of a schedule and a PVC that exist, and under the name that it computes. Whoever may
// create snapshots can put our labels on them.
func (f *inFlight) made(parent types.NamespacedName, v *snapshotv1.VolumeSnapshot) (s inflight.Snapshot, ok bool) {
	owner := f.schedule(parent)
	claim, exists := f.stores.Get(anyClaim, client.ObjectKey{Namespace: v.Namespace, Name: claimName(v)}).(*corev1.PersistentVolumeClaim)
	if owner == nil || !exists || !Ownership.Owns(owner, v) || string(claim.UID) != v.Labels[v1alpha1.LabelMapKey] ||
		v.Name != snapshotName(owner.UID, claim.UID, claim.Name, scheduledAt(v)) {
		return s, false
	}
	classes := Classes{Known: f.classesKnown}
	if f.classesKnown {
		classes.All = f.stores.List(anyClass, "")
	}
	return inflight.Snapshot{
		Namespace: v.Namespace, Name: v.Name, Schedule: owner.Name, ReadyDeadline: f.readyDeadline(owner),
		Driver: string(classes.limitedBy(claim, &owner.Spec.SnapshotTemplate.Spec, v.Spec.VolumeSnapshotClassName)),
	}, true
}

// reported is called after each pass.
func (f *inFlight) reported(req mapcontroller.Request, outcome mapcontroller.Outcome) {
	f.with(func(now time.Time) []inflight.Wake {
		name, admitted := f.creating[req]
		delete(f.creating, req)
		switch {
		case !admitted || len(outcome.Created) > 0:
			return nil
		case slices.ContainsFunc(outcome.Failed, isCreate):
			return f.gate.Failed(now, req.Parent.Namespace, name)
		}
		return f.gate.Unsure(now, req.Parent.Namespace, name)
	})
}

// counts returns the counts by label.
func (f *inFlight) counts() map[string]inflight.Count {
	byLabel := map[string]inflight.Count{metrics.OtherDrivers: {}}
	for _, o := range f.stores.List(anyClass, "") {
		if d := driverNamed(classOf(o).Driver); d != "" {
			byLabel[string(d)] = inflight.Count{}
		}
	}
	f.mu.Lock()
	counts := f.gate.Counts(f.clock.Now())
	f.mu.Unlock()
	for name, c := range counts {
		if _, isClass := byLabel[name]; !isClass || !f.classesKnown {
			name = metrics.OtherDrivers
		}
		sum := byLabel[name]
		byLabel[name] = inflight.Count{InFlight: sum.InFlight + c.InFlight, Waiting: sum.Waiting + c.Waiting}
	}
	return byLabel
}

// forget is called after a schedule is deleted. Its snapshots may stay, and do not count.
func (f *inFlight) forget(parent types.NamespacedName) {
	var names []string
	f.with(func(now time.Time) []inflight.Wake {
		names = f.gate.Of(parent)
		return f.gate.ParentDeleted(now, parent)
	})
	for _, name := range names {
		if v, ok := f.stores.Get(anySnapshot, client.ObjectKey{Namespace: parent.Namespace, Name: name}).(*snapshotv1.VolumeSnapshot); ok {
			f.count(parent, v)
		}
	}
}

func isCreate(f mapcontroller.Failure) bool { return f.Verb == mapcontroller.VerbCreate }

// judgeTurn keeps the turn of a slot that waits for it. One that waited until it was too old
// is a problem. What went wrong with a slot stays a problem until another create is tried, or
// there is a newer snapshot: nothing else says that the slot has none.
func (k *keyStatus) judgeTurn(before *keyStatus, outcome mapcontroller.Outcome) {
	t := k.turn
	if !k.untried(outcome) {
		k.turn = nil
		return
	}
	if t.late {
		k.turn = nil
		if before.turn != nil && before.turn.slot.Equal(t.slot) {
			k.addIfNew(Problem{Reason: v1alpha1.ReasonSnapshotOverdue, Message: droppedMessage + waitedMessage(before.turn.driver)})
		}
	}
	for _, p := range before.Problems {
		if p.ofSlot() {
			k.addIfNew(p)
		}
	}
}

// untried returns whether a slot has no snapshot, and no create was tried for it in a pass.
func (k *keyStatus) untried(outcome mapcontroller.Outcome) bool {
	return k.turn != nil && (k.turn.late || outcome.Queued)
}

// ofSlot returns whether a problem is that no snapshot could be created for a slot.
func (p Problem) ofSlot() bool {
	return p.Reason == v1alpha1.ReasonCreateFailed || p.Reason == v1alpha1.ReasonNameCollision ||
		isOverdue(p) && strings.HasPrefix(p.Message, droppedMessage)
}

// droppedMessage begins the message of a slot that became too old while it waited.
const droppedMessage = "a slot became too old while it waited: "

func isOverdue(p Problem) bool { return p.Reason == v1alpha1.ReasonSnapshotOverdue }

func waitedMessage(d driver) string {
	of := "driver " + d.String()
	if d == "" {
		of = "unknown drivers"
	}
	return fmt.Sprintf("too many snapshots of %s are not cut yet, see --max-in-flight-per-driver", of)
}

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
