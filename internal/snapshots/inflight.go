// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// inFlight is the gate of creates: it asks the limits about every create, reports to them what becomes of snapshots, and enqueues
// the keys that may create next. It reads the cache, before it takes its lock, and knows nothing else of the engine.
type inFlight struct {
	clock  clock.PassiveClock
	stores *Stores
	// size is how many snapshots of a driver may be in flight where no class says it.
	size int
	// engine reads the cache, and enqueues keys.
	engine mapcontroller.Access
	// classesKnown is set if VolumeSnapshotClasses are read.
	classesKnown bool

	mu     sync.Mutex
	limits *limits.Limits
}

func newInFlight(o Options, size int) *inFlight {
	return &inFlight{
		clock: o.Clock, stores: o.Stores, size: size, limits: limits.New(), engine: unconnected,
		classesKnown: len(o.Namespaces) == 0, // else Roles must suffice
	}
}

// unconnected is the engine before it connects, and of who only asks for a status: it has nothing, and does nothing.
var unconnected = mapcontroller.Access{
	Enqueue:    func(mapcontroller.Request, time.Duration) {},
	KeyOf:      func(client.Object) (req mapcontroller.Request, owned bool) { return req, false },
	Outputs:    func(mapcontroller.Request) []client.Object { return nil },
	Parent:     func(types.NamespacedName) client.Object { return nil },
	WakeStatus: func(types.NamespacedName, time.Duration) {},
	Spec:       func(types.NamespacedName) any { return nil },
	MadeFrom:   func(string, string) []client.Object { return nil },
}

// with changes the limits, and wakes the keys that are next.
func (f *inFlight) with(change func(now time.Time) []limits.Wake) {
	f.mu.Lock()
	wake := change(f.clock.Now())
	f.mu.Unlock()
	for _, w := range wake {
		f.engine.Enqueue(mapcontroller.Request(w.Request), w.After)
	}
}

// allow returns why a key may not create a snapshot now; empty if it may. It recounts the unfinished snapshots of a key first: the cache
// may have shown them before their PVC, schedule or class. A change of one of these leads to another pass.
func (f *inFlight) allow(req mapcontroller.Request, create []mapcontroller.Desired, outputs []client.Object) (why string) {
	f.recount(req.Parent, outputs)
	if len(create) == 0 {
		f.with(func(now time.Time) []limits.Wake { return f.limits.Leave(now, limits.Request(req)) })
		return ""
	}
	want := create[0] // a PVC, or a group, never lacks more than one
	var claims []*corev1.PersistentVolumeClaim
	storage := f.classes().capacityOf(driver(want.Limit))
	c := limits.Create{
		Request: limits.Request(req), Since: want.Since,
		Sizes: limits.Sizes{InFlight: cmp.Or(storage.inFlight, f.size), Pending: storage.pending},
		Snapshot: limits.Snapshot{
			Namespace: req.Parent.Namespace, Name: want.Object.GetName(), Schedule: req.Parent.Name, Limit: want.Limit,
			ReadyDeadline: f.readyDeadline(f.schedule(req.Parent)),
		},
	}
	for name, uid := range recordedClaims(want.Object, req.MapKey) {
		c.Snapshot.Volumes = append(c.Snapshot.Volumes, string(uid))
		if claim := f.claim(req.Parent.Namespace, name); claim != nil {
			claims = append(claims, claim)
		}
	}
	// To look up the snapshots of all schedules of a namespace takes long, so it is done without the lock that all
	// namespaces share. What was created before is known to the limits, or in the cache, which is read only now. If
	// anything that was known has left the limits meanwhile, it may be in neither, and the key waits if that goes on.
	for try, ok := 1, false; !ok; try++ {
		mark := f.mark()
		c.Volumes = f.volumes(claims, storage)
		f.with(func(now time.Time) (wake []limits.Wake) {
			if storage.ofVolumes() && f.limits.LeftSince(mark, c.Snapshot.Volumes) {
				if try < maxLookUps {
					return nil
				}
				c.Volumes = []limits.Volume{{Name: c.Snapshot.Volumes[0], Spacing: time.Second, Newest: now}}
			}
			ok = true
			var reason limits.Reason
			reason, wake = f.limits.MayCreate(now, c)
			why = string(reason)
			return wake
		})
	}
	return why
}

// maxLookUps is how often the snapshots of some volumes are looked up in a pass. Whoever makes snapshots of them come and go all the
// time, waits.
const maxLookUps = 4

func (f *inFlight) mark() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.limits.Mark()
}

// volumes returns what is known of the volumes of PVCs of a namespace, if it matters.
func (f *inFlight) volumes(claims []*corev1.PersistentVolumeClaim, storage capacity) (all []limits.Volume) {
	if !storage.ofVolumes() || len(claims) == 0 {
		return nil
	}
	uids := make([]string, len(claims))
	for i, claim := range claims {
		uids[i] = string(claim.UID)
	}
	seen := mapcontroller.Observation{Outputs: f.ofVolumes(claims[0].Namespace, uids)}
	for i, v := range volumesOf(claims, storage, seen) {
		all = append(all, v.limits(uids[i]))
	}
	return all
}

// schedule returns a schedule with the spec that it is decided by; nil if there is none.
func (f *inFlight) schedule(name types.NamespacedName) *v1alpha1.SnapshotSchedule {
	s, _ := f.engine.Parent(name).(*v1alpha1.SnapshotSchedule)
	return s
}

func (f *inFlight) claim(namespace, name string) *corev1.PersistentVolumeClaim {
	c, _ := f.stores.Get(anyClaim, client.ObjectKey{Namespace: namespace, Name: name}).(*corev1.PersistentVolumeClaim)
	return c
}

// ofVolumes returns the snapshots of the PVCs of some UIDs, of all schedules. A group snapshot is of many, and comes once.
func (f *inFlight) ofVolumes(namespace string, uids []string) (all []client.Object) {
	schedules, known := f.stores.List(anySchedule, namespace), map[client.Object]bool{}
	for _, uid := range uids {
		for _, s := range schedules {
			all = append(all, f.engine.Outputs(mapcontroller.Request{Parent: client.ObjectKeyFromObject(s), MapKey: uid})...)
		}
		for _, o := range f.engine.MadeFrom(namespace, uid) {
			if !known[o] {
				known[o], all = true, append(all, o)
			}
		}
	}
	return all
}

// related returns the snapshots of the PVCs of a key, of all schedules, for its decisions, if a class limits how many there are.
func (f *inFlight) related(namespace string, seen mapcontroller.Observation, classes []client.Object) []client.Object {
	if !f.classesKnown || !slices.ContainsFunc(classes, func(o client.Object) bool {
		_, limited := o.GetAnnotations()[v1alpha1.AnnotationMaxPerVolume]
		return limited
	}) {
		return nil
	}
	uids := []string{seen.MapKey}
	if backup.IsGroupKey(seen.MapKey) {
		if uids = nil; len(seen.Selected) > backup.MaxGroup { // none is taken of them
			return nil
		}
		for _, claim := range seen.Selected {
			uids = append(uids, string(claim.GetUID()))
		}
	}
	return f.ofVolumes(namespace, uids)
}

func (f *inFlight) readyDeadline(s *v1alpha1.SnapshotSchedule) time.Duration {
	if s == nil {
		return defaultReadyDeadline
	}
	return cmp.Or(delay(s.Spec.ReadyDeadline), defaultReadyDeadline)
}

// event is called for each event of a snapshot.
func (f *inFlight) event(parent types.NamespacedName, before, after client.Object) {
	series := func() []client.Object {
		return f.engine.Outputs(mapcontroller.Request{Parent: parent, MapKey: after.GetLabels()[v1alpha1.LabelMapKey]})
	}
	if backup.ReadyToUse(after) {
		// At a start, nearly all are ready, and to look up the others for each takes a third of its CPU.
		if !backup.ReadyToUse(before) && f.busy(after) {
			f.recount(parent, series()) // those before it no longer count
		}
	} else if taken, known := backup.From(after); known {
		f.count(parent, after, taken, series())
		return
	}
	gone := cmp.Or(after, before)
	f.with(func(now time.Time) []limits.Wake {
		wake := f.limits.Remove(now, gone.GetNamespace(), gone.GetName())
		if after != nil {
			return wake
		}
		for _, uid := range recordedClaims(gone, gone.GetLabels()[v1alpha1.LabelMapKey]) {
			wake = append(wake, f.limits.VolumeChanged(now, string(uid))...)
		}
		return wake
	})
}

// busy returns whether any snapshot of the PVCs of a snapshot counts.
func (f *inFlight) busy(o client.Object) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, uid := range recordedClaims(o, o.GetLabels()[v1alpha1.LabelMapKey]) {
		if f.limits.Busy(string(uid)) {
			return true
		}
	}
	return false
}

// recount counts the snapshots of a key that are not ready.
func (f *inFlight) recount(parent types.NamespacedName, series []client.Object) {
	for _, o := range series {
		if backup.ReadyToUse(o) { // as nearly all: each pass over a key asks
			continue
		}
		// Of what lost its map key, only the metadata is known.
		if taken, known := backup.From(o); known {
			f.count(parent, o, taken, series)
		}
	}
}

// count reports whether a snapshot that is not ready counts, among those of its series.
func (f *inFlight) count(parent types.NamespacedName, o client.Object, taken retention.Snapshot, series []client.Object) {
	s, counts := f.made(parent, o, taken, series)
	f.with(func(now time.Time) []limits.Wake {
		if !counts {
			return f.limits.Remove(now, o.GetNamespace(), o.GetName())
		}
		at := stageOf(o, taken)
		at.Followed = followed(taken, series, now)
		return f.limits.Seen(now, s, at)
	})
}

// made returns what the limits need to know of a snapshot, or a group snapshot; not ok unless the operator made
// it: of a schedule and PVCs that exist, and under the name that it computes. Whoever may
// create snapshots can put our labels on them.
func (f *inFlight) made(
	parent types.NamespacedName, o client.Object, taken retention.Snapshot, series []client.Object,
) (s limits.Snapshot, ok bool) {
	owner := f.schedule(parent)
	if owner == nil || !Ownership.Owns(owner, o) || taken.Imported { // of what was imported, nothing is in progress
		return s, false
	}
	s = limits.Snapshot{Namespace: o.GetNamespace(), Name: o.GetName(), Schedule: owner.Name, ReadyDeadline: f.readyDeadline(owner)}
	key, kind := o.GetLabels()[v1alpha1.LabelMapKey], kindFor(o)
	if s.Name != snapshotName(owner.UID, types.UID(key), cmp.Or(backup.ClaimName(o), owner.Name), taken.ScheduledAt) ||
		kind.ofGroup && !backup.IsGroupKey(key) {
		return s, false
	}
	var claims []*corev1.PersistentVolumeClaim
	for name, uid := range recordedClaims(o, key) {
		claim := f.claim(s.Namespace, name)
		exists := claim != nil && claim.UID == uid
		if exists {
			claims = append(claims, claim)
		}
		// The storage goes on with what it has cut, whatever becomes of the PVCs.
		if exists || !taken.Uncut() && (kind.ofGroup || claim == nil) {
			s.Volumes = append(s.Volumes, string(uid))
		}
	}
	slices.Sort(s.Volumes) // the same in each pass
	s.Limit = string(f.limitOf(owner, o, claims, series))
	return s, len(s.Volumes) > 0
}

// limitOf returns the driver whose limits a snapshot, or a group snapshot, counts towards.
func (f *inFlight) limitOf(
	owner *v1alpha1.SnapshotSchedule, o client.Object, claims []*corev1.PersistentVolumeClaim, series []client.Object,
) driver {
	classes, class := f.classes(), backup.ClassOf(o)
	if of := classes.driverIn(o); of != "" { // the snapshot controller may have chosen the class, by the volume
		return of
	}
	w := wantedBy(&owner.Spec.SnapshotTemplate.Spec, claims)
	if kind := kindFor(o); kind.ofGroup {
		w = wanted{kind: kind, claims: claims, name: class}
	}
	limit := driver("")
	if d, refused := w.kind.driverOf(claims); refused.Reason == "" {
		limit = classes.limitedBy(w, d, class)
	}
	limit, _ = classes.limitOf(limit, series, oldestOf(claims))
	return limit
}

func (f *inFlight) classes() Classes {
	if !f.classesKnown {
		return Classes{}
	}
	return Classes{Known: true, All: f.allClasses()}
}

// allClasses returns the VolumeSnapshotClasses and the VolumeGroupSnapshotClasses.
func (f *inFlight) allClasses() []client.Object {
	return append(f.stores.List(anyClass, ""), f.stores.List(anyGroupClass, "")...)
}

// retained returns whether the data of a deleted snapshot stays in the storage.
func (f *inFlight) retained(o client.Object) bool {
	if s, known := backup.From(o); !known || s.Uncut() {
		return false
	}
	class := backup.ClassOf(o)
	return class != nil && f.classes().retains(kindFor(o), class, "")
}

// done is called after each pass.
func (f *inFlight) done(namespace string, outcome mapcontroller.Outcome) {
	f.with(func(now time.Time) (wake []limits.Wake) {
		for _, failed := range outcome.Failed {
			if isCreate(failed) && !slices.Contains(outcome.Unanswered, failed.Object) {
				wake = append(wake, f.limits.Failed(now, namespace, failed.Object.GetName())...)
			}
		}
		for _, o := range outcome.Unanswered {
			wake = append(wake, f.limits.Unsure(now, namespace, o.GetName())...)
		}
		return wake
	})
}

// forget is called after a schedule is deleted. Its snapshots may stay, and do not count.
func (f *inFlight) forget(parent types.NamespacedName) {
	var names []string
	f.with(func(now time.Time) []limits.Wake {
		names = f.limits.Of(parent)
		return f.limits.ParentDeleted(now, parent)
	})
	for _, name := range names {
		for _, kind := range [...]client.Object{anySnapshot, anyGroup} {
			if o := f.stores.Get(kind, client.ObjectKey{Namespace: parent.Namespace, Name: name}); o != nil {
				f.count(parent, o, backup.Of(o), []client.Object{o})
			}
		}
	}
}

func isCreate(f mapcontroller.Failure) bool { return f.Verb == mapcontroller.VerbCreate }
