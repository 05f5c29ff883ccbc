// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/record"
)

// Recorder records every change in all namespaces: of what they contain, of themselves, and of the ClusterSnapshotSchedules with their
// names.
type Recorder struct {
	mu      sync.Mutex
	changes map[string][]Change
	current map[string]map[types.UID]client.Object
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

func kinds() []client.ObjectList {
	return []client.ObjectList{
		&v1alpha1.SnapshotScheduleList{}, &corev1.PersistentVolumeClaimList{}, &snapshotv1.VolumeSnapshotList{},
	}
}

// clusterKinds are in no namespace. Their objects are recorded with the namespace of their name.
func clusterKinds() []client.Object {
	return []client.Object{&v1alpha1.ClusterSnapshotSchedule{}, &corev1.Namespace{}}
}

// home returns the namespace that an object is recorded with.
func home(o client.Object) string { return cmp.Or(o.GetNamespace(), o.GetName()) }

func emptyRecorder() *Recorder {
	return &Recorder{
		changes: map[string][]Change{}, current: map[string]map[types.UID]client.Object{},
		waiting: map[string][]chan struct{}{},
	}
}

func newRecorder(ctx context.Context, c client.WithWatch) (*Recorder, error) {
	r := emptyRecorder()
	for _, list := range append(kinds(), &v1alpha1.ClusterSnapshotScheduleList{}, &corev1.NamespaceList{}) {
		wait, err := record.Follow(ctx, c, list, func(kind watch.EventType, o client.Object) { r.add(kind, o, time.Now()) })
		if err != nil {
			return nil, err
		}
		go func() {
			if err := wait(); err != nil {
				r.fail(fmt.Errorf("the watch that records changes has ended, so no run can be judged: %w", err))
			}
		}()
	}
	return r, nil
}

func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = err
	}
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
	namespace := home(o)
	if r.current[namespace] == nil {
		r.current[namespace] = map[types.UID]client.Object{}
	}
	change := Change{Revision: revision, At: at, After: o}
	if before := r.current[namespace][o.GetUID()]; before != nil {
		change.Before = before
	}
	r.current[namespace][o.GetUID()] = o
	if kind == watch.Deleted {
		change.After = nil
		delete(r.current[namespace], o.GetUID())
		if change.Before == nil {
			change.Before = o
		}
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
	var s State
	for _, o := range r.current[namespace] {
		s.add(o)
	}
	s.sort()
	return s
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
	delete(r.current, namespace)
	delete(r.waiting, namespace)
}

// CatchUp waits until the record of a namespace holds what the API server does. It lists again each
// time, because objects of an earlier list may have been deleted since.
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
	for _, list := range kinds() {
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			live[o.(client.Object).GetUID()] = o.(client.Object).GetResourceVersion()
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, o := range clusterKinds() {
		switch err := c.Get(ctx, client.ObjectKey{Name: namespace}, o); {
		case err == nil:
			live[o.GetUID()] = o.GetResourceVersion()
		case !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	return live, nil
}

func (r *Recorder) matches(namespace string, live map[types.UID]string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	recorded := r.current[namespace]
	for uid, version := range live {
		if o := recorded[uid]; o == nil || older(o.GetResourceVersion(), version) {
			return fmt.Errorf("the record of %s is behind", namespace)
		}
	}
	for uid := range recorded {
		if _, ok := live[uid]; !ok {
			return fmt.Errorf("the record of %s is behind", namespace)
		}
	}
	return nil
}

func older(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }
