// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/record"
)

// Recorder records every change in all namespaces: of what they contain, of themselves, and of the ClusterSnapshotSchedules with their
// names.
type Recorder struct {
	mu      sync.Mutex
	changes map[string][]Change
	waiting map[string][]chan struct{}
	broken  error
}

// Change is one write to one object.
type Change struct {
	// Revision is the resulting resourceVersion, and At when the change was seen.
	Revision int64
	At       time.Time
	// Before is nil if the object was created, After if it was removed.
	Before, After client.Object
}

// Object returns the object after the change, or before its removal.
func (c Change) Object() client.Object {
	if c.After == nil {
		return c.Before
	}
	return c.After
}

// kinds are those in a namespace, clusterKinds those whose objects are recorded with the namespace of their name.
func kinds() []client.ObjectList {
	return []client.ObjectList{&v1alpha1.SnapshotScheduleList{}, &corev1.PersistentVolumeClaimList{}, &snapshotv1.VolumeSnapshotList{}}
}

func clusterKinds() []client.ObjectList {
	return []client.ObjectList{&v1alpha1.ClusterSnapshotScheduleList{}, &corev1.NamespaceList{}}
}

func emptyRecorder() *Recorder {
	return &Recorder{changes: map[string][]Change{}, waiting: map[string][]chan struct{}{}}
}

func newRecorder(ctx context.Context, c client.WithWatch) (*Recorder, error) {
	r := emptyRecorder()
	for _, list := range append(kinds(), clusterKinds()...) {
		wait, err := record.Follow(ctx, c, list, func(kind watch.EventType, o client.Object) { r.add(kind, o, time.Now()) })
		if err != nil {
			return nil, err
		}
		go func() {
			if err := wait(); err != nil {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.broken = cmp.Or(r.broken, fmt.Errorf("the watch that records changes has ended, so no run can be judged: %w", err))
			}
		}()
	}
	return r, nil
}

// Broken returns why no run can be judged any more, or nil.
func (r *Recorder) Broken() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

func (r *Recorder) add(kind watch.EventType, o client.Object, at time.Time) {
	revision, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(err) // etcd's revisions are numbers
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	namespace := cmp.Or(o.GetNamespace(), o.GetName())
	change := Change{Revision: revision, At: at, Before: r.current(namespace)[o.GetUID()], After: o}
	if kind == watch.Deleted {
		change.Before, change.After = cmp.Or(change.Before, o), nil
	}
	r.changes[namespace] = append(r.changes[namespace], change)
	for _, changed := range r.waiting[namespace] {
		notify(changed)
	}
}

// notify sends to a channel of capacity 1 unless something is waiting in it already.
func notify(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}

// current returns the objects of a namespace. The mutex is held.
func (r *Recorder) current(namespace string) map[types.UID]client.Object {
	objects := map[types.UID]client.Object{}
	for _, c := range r.changes[namespace] {
		objects[c.Object().GetUID()] = c.After
	}
	maps.DeleteFunc(objects, func(_ types.UID, o client.Object) bool { return o == nil })
	return objects
}

// Changes returns those of a namespace, in the order of their commits.
func (r *Recorder) Changes(namespace string) []Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	changes := slices.Clone(r.changes[namespace])
	slices.SortStableFunc(changes, func(a, b Change) int { return int(a.Revision - b.Revision) })
	return changes
}

// State returns what a namespace holds now.
func (r *Recorder) State(namespace string) State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return stateOf(slices.Collect(maps.Values(r.current(namespace))))
}

// onChange returns a channel that is sent to after each change in a namespace.
func (r *Recorder) onChange(namespace string) chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := make(chan struct{}, 1)
	r.waiting[namespace] = append(r.waiting[namespace], changed)
	return changed
}

// Forget drops everything about a namespace.
func (r *Recorder) Forget(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.changes, namespace)
	delete(r.waiting, namespace)
}

// CatchUp waits until the record of a namespace holds what the API server does. It lists again each time, because objects of an earlier
// list may have been deleted since.
func (r *Recorder) CatchUp(ctx context.Context, c client.Client, namespace string) error {
	return Await(ctx, 10*time.Second, func() error {
		live, err := versions(ctx, c, namespace)
		if err != nil {
			return err
		}
		return r.matches(namespace, live)
	})
}

func versions(ctx context.Context, c client.Client, namespace string) (map[types.UID]string, error) {
	live := map[types.UID]string{}
	add := func(list client.ObjectList, of client.ListOption) error {
		if err := c.List(ctx, list, of); err != nil {
			return err
		}
		return meta.EachListItem(list, func(o runtime.Object) error {
			live[o.(client.Object).GetUID()] = o.(client.Object).GetResourceVersion()
			return nil
		})
	}
	for _, list := range kinds() {
		if err := add(list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
	}
	for _, list := range clusterKinds() {
		if err := add(list, client.MatchingFields{"metadata.name": namespace}); err != nil {
			return nil, err
		}
	}
	return live, nil
}

func (r *Recorder) matches(namespace string, live map[types.UID]string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	recorded := r.current(namespace)
	behind := len(recorded) > len(live) // something was removed
	for uid, version := range live {
		o := recorded[uid]
		behind = behind || o == nil || older(o.GetResourceVersion(), version)
	}
	if behind {
		return fmt.Errorf("the record of %s is behind", namespace)
	}
	return nil
}

func older(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

// State is what a namespace holds, sorted by name.
type State struct {
	// Namespace is nil while it does not exist, Fleet while there is no ClusterSnapshotSchedule of its name.
	Namespace *corev1.Namespace
	Fleet     *v1alpha1.ClusterSnapshotSchedule
	Schedules []*v1alpha1.SnapshotSchedule
	Claims    []*corev1.PersistentVolumeClaim
	Snapshots []*snapshotv1.VolumeSnapshot

	all []client.Object
}

func stateOf(all []client.Object) State {
	slices.SortFunc(all, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	s := State{all: all}
	for _, o := range all {
		switch o := o.(type) {
		case *corev1.Namespace:
			s.Namespace = o
		case *v1alpha1.ClusterSnapshotSchedule:
			s.Fleet = o
		case *v1alpha1.SnapshotSchedule:
			s.Schedules = append(s.Schedules, o)
		case *corev1.PersistentVolumeClaim:
			s.Claims = append(s.Claims, o)
		case *snapshotv1.VolumeSnapshot:
			s.Snapshots = append(s.Snapshots, o)
		}
	}
	return s
}

// Objects returns all of them.
func (s State) Objects() []client.Object { return s.all }

// named returns the object with a name, or nil.
func named[T client.Object](list []T, name string) (none T) {
	for _, o := range list {
		if o.GetName() == name {
			return o
		}
	}
	return none
}

// Schedule returns the schedule with a name, or nil.
func (s State) Schedule(name string) *v1alpha1.SnapshotSchedule { return named(s.Schedules, name) }

// Claim returns the PVC with a name, or nil.
func (s State) Claim(name string) *corev1.PersistentVolumeClaim { return named(s.Claims, name) }

// snapshots returns those that a condition holds for.
func (s State) snapshots(holds func(*snapshotv1.VolumeSnapshot) bool) []*snapshotv1.VolumeSnapshot {
	return slices.DeleteFunc(slices.Clone(s.Snapshots), func(v *snapshotv1.VolumeSnapshot) bool { return !holds(v) })
}

// Snapshot returns the snapshot that was taken before the run under a nickname, or nil if it is gone.
func (s State) Snapshot(name string) *snapshotv1.VolumeSnapshot {
	if found := s.snapshots(func(v *snapshotv1.VolumeSnapshot) bool { return v.Annotations[nickname] == name }); len(found) > 0 {
		return found[0]
	}
	return nil
}

// Of returns the snapshots of a PVC, sorted by name.
func (s State) Of(claim string) []*snapshotv1.VolumeSnapshot {
	return s.snapshots(func(v *snapshotv1.VolumeSnapshot) bool {
		return ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "") == claim
	})
}

// Owned returns the snapshots that a schedule controls or, under deletionPolicy Orphan, owns by their labels.
func (s State) Owned(by *v1alpha1.SnapshotSchedule) []*snapshotv1.VolumeSnapshot {
	return s.snapshots(func(v *snapshotv1.VolumeSnapshot) bool {
		return by != nil && (metav1.IsControlledBy(v, by) || by.Spec.DeletionPolicy == v1alpha1.DeletionOrphan &&
			metav1.GetControllerOf(v) == nil && v.Labels[v1alpha1.LabelSchedule] == by.Name && v.Labels[v1alpha1.LabelMapKey] != "")
	})
}

// Ready returns whether a snapshot can be restored from.
func Ready(v *snapshotv1.VolumeSnapshot) bool {
	return v.DeletionTimestamp == nil && v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false)
}

// Reason returns the reason of a schedule's condition, or the empty string without the condition.
func Reason(s *v1alpha1.SnapshotSchedule, condition string) string {
	if s == nil {
		return ""
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, condition); c != nil {
		return c.Reason
	}
	return ""
}
