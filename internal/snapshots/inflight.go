// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"strings"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// inFlight asks the limits about every create, and reports to them what becomes of
// snapshots.
type inFlight struct {
	clock  clock.PassiveClock
	stores *Stores
	// enqueue enqueues a key after a delay.
	enqueue func(mapcontroller.Request, time.Duration)

	// classesKnown is set if VolumeSnapshotClasses are read.
	classesKnown bool

	mu     sync.Mutex
	limits *limits.Limits
}

func newInFlight(o Options, limit int) *inFlight {
	return &inFlight{
		clock: o.Clock, stores: o.Stores, limits: limits.New(limit),
		classesKnown: len(o.Namespaces) == 0, // else Roles must suffice
		enqueue:      func(mapcontroller.Request, time.Duration) {},
	}
}

// with changes the limits, and wakes the keys that are next.
func (f *inFlight) with(change func(now time.Time) []limits.Wake) {
	f.mu.Lock()
	wake := change(f.clock.Now())
	f.mu.Unlock()
	for _, w := range wake {
		f.enqueue(mapcontroller.Request(w.Request), w.After)
	}
}

// mayCreate implements the engine's MayCreate. It counts the uncut snapshots of a key once
// more: its PVC, its schedule and the classes may be seen later than they, and change.
// Each of that leads to another pass.
func (f *inFlight) mayCreate(req mapcontroller.Request, create []mapcontroller.Desired, outputs []client.Object) (may bool) {
	for _, o := range outputs {
		// Of what lost its map key, only the metadata is known.
		if v, ok := o.(*snapshotv1.VolumeSnapshot); ok && v.DeletionTimestamp == nil && isUncut(v) {
			f.count(req.Parent, v)
		}
	}
	if len(create) == 0 {
		f.with(func(now time.Time) []limits.Wake { return f.limits.Leave(now, limits.Request(req)) })
		return true
	}
	want := create[0] // a PVC never lacks more than one
	s := limits.Snapshot{
		Namespace: req.Parent.Namespace, Name: want.Object.GetName(), Schedule: req.Parent.Name, Limit: want.Limit,
		ReadyDeadline: f.readyDeadline(f.schedule(req.Parent)),
	}
	f.with(func(now time.Time) (wake []limits.Wake) {
		may, wake = f.limits.MayCreate(now, limits.Request(req), s, want.Since)
		return wake
	})
	return may
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

// onChange is called for each event of a snapshot.
func (f *inFlight) onChange(parent types.NamespacedName, before, after client.Object) {
	if v, ok := after.(*snapshotv1.VolumeSnapshot); ok && v.DeletionTimestamp == nil && isUncut(v) {
		f.count(parent, v)
		return
	}
	gone := after
	if gone == nil {
		gone = before
	}
	f.with(func(now time.Time) []limits.Wake { return f.limits.Remove(now, gone.GetNamespace(), gone.GetName()) })
}

// count reports whether an uncut snapshot counts.
func (f *inFlight) count(parent types.NamespacedName, v *snapshotv1.VolumeSnapshot) {
	s, counts := f.made(parent, v)
	f.with(func(now time.Time) []limits.Wake {
		if counts {
			return f.limits.Seen(now, v.CreationTimestamp.Time, s)
		}
		return f.limits.Remove(now, v.Namespace, v.Name)
	})
}

// made returns what the limits need to know of a snapshot; not ok unless the operator made
// it: of a schedule and a PVC that exist, and under the name that it computes. Whoever may
// create snapshots can put our labels on them.
func (f *inFlight) made(parent types.NamespacedName, v *snapshotv1.VolumeSnapshot) (s limits.Snapshot, ok bool) {
	owner := f.schedule(parent)
	claim, exists := f.stores.Get(anyClaim, client.ObjectKey{Namespace: v.Namespace, Name: claimName(v)}).(*corev1.PersistentVolumeClaim)
	if owner == nil || !exists || !Ownership.Owns(owner, v) || string(claim.UID) != v.Labels[v1alpha1.LabelMapKey] ||
		v.Name != snapshotName(owner.UID, claim.UID, claim.Name, scheduledAt(v)) {
		return s, false
	}
	classes := f.classes()
	return limits.Snapshot{
		Namespace: v.Namespace, Name: v.Name, Schedule: owner.Name, ReadyDeadline: f.readyDeadline(owner),
		Limit: string(classes.limitedBy(claim, &owner.Spec.SnapshotTemplate.Spec, v.Spec.VolumeSnapshotClassName)),
	}, true
}

func (f *inFlight) classes() Classes {
	if !f.classesKnown {
		return Classes{}
	}
	return Classes{Known: true, All: f.stores.List(anyClass, "")}
}

// retained returns whether the data of a deleted snapshot stays in the storage.
func (f *inFlight) retained(o client.Object) bool {
	v, ok := o.(*snapshotv1.VolumeSnapshot)
	return ok && !isUncut(v) && v.Spec.VolumeSnapshotClassName != nil && f.classes().retains(v.Spec.VolumeSnapshotClassName, "")
}

// tried is called after each pass.
func (f *inFlight) tried(namespace string, outcome mapcontroller.Outcome) {
	f.with(func(now time.Time) (wake []limits.Wake) {
		for _, failed := range outcome.Failed {
			if isCreate(failed) {
				wake = append(wake, f.limits.Failed(now, namespace, failed.Object.GetName())...)
			}
		}
		for _, o := range outcome.Unanswered {
			wake = append(wake, f.limits.Unsure(now, namespace, o.GetName())...)
		}
		return wake
	})
}

// counts returns the counts by label.
func (f *inFlight) counts() map[string]limits.Count {
	byLabel := map[string]limits.Count{metrics.OtherDrivers: {}}
	for _, o := range f.stores.List(anyClass, "") {
		if d := driverNamed(classOf(o).Driver); d != "" {
			byLabel[string(d)] = limits.Count{}
		}
	}
	f.mu.Lock()
	counts := f.limits.Counts(f.clock.Now())
	f.mu.Unlock()
	for name, c := range counts {
		if _, isClass := byLabel[name]; !isClass || !f.classesKnown {
			name = metrics.OtherDrivers
		}
		sum := byLabel[name]
		byLabel[name] = limits.Count{InFlight: sum.InFlight + c.InFlight, Waiting: sum.Waiting + c.Waiting}
	}
	return byLabel
}

// forget is called after a schedule is deleted. Its snapshots may stay, and do not count.
func (f *inFlight) forget(parent types.NamespacedName) {
	var names []string
	f.with(func(now time.Time) []limits.Wake {
		names = f.limits.Of(parent)
		return f.limits.ParentDeleted(now, parent)
	})
	for _, name := range names {
		if v, ok := f.stores.Get(anySnapshot, client.ObjectKey{Namespace: parent.Namespace, Name: name}).(*snapshotv1.VolumeSnapshot); ok {
			f.count(parent, v)
		}
	}
}

func isCreate(f mapcontroller.Failure) bool { return f.Verb == mapcontroller.VerbCreate }

// judgePending keeps the slot that waits. One that waited until it was too old is a problem.
// What went wrong with a slot stays a problem until another create is tried, or there is a
// newer snapshot: nothing else says that the slot has none.
func (k *keyStatus) judgePending(before *keyStatus, outcome mapcontroller.Outcome) {
	p := k.pending
	if !k.untried(outcome) {
		k.pending = nil
		return
	}
	if p.late {
		k.pending = nil
		if before.pending != nil && before.pending.slot.Equal(p.slot) {
			k.addIfNew(Problem{Reason: v1alpha1.ReasonSnapshotOverdue, Message: droppedMessage + waitedMessage(before.pending.driver)})
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
	return k.pending != nil && (k.pending.late || outcome.Queued)
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

// waitingText counts the PVCs that wait.
func waitingText(sum combined) string {
	if sum.Waiting == 0 {
		return ""
	}
	drivers := "driver "
	if len(sum.WaitingFor) > 1 {
		drivers = "drivers "
	}
	return fmt.Sprintf(", %d waiting (%s%s)", sum.Waiting, drivers, report.List(sum.WaitingFor, maxDrivers))
}
