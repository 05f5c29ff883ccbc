// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// Recorder sees every change of the three kinds in all namespaces, by watches that
// have no gap: each goes on where it was.
type Recorder struct {
	mu      sync.Mutex
	changes map[string][]history.Change
	current map[string]map[types.UID]client.Object
	told    map[string][]chan struct{}
	broken  error
}

func kinds() []client.ObjectList {
	return []client.ObjectList{
		&v1alpha1.SnapshotScheduleList{}, &corev1.PersistentVolumeClaimList{}, &snapshotv1.VolumeSnapshotList{},
	}
}

func record(ctx context.Context, c client.WithWatch) (*Recorder, error) {
	r := &Recorder{
		changes: map[string][]history.Change{}, current: map[string]map[types.UID]client.Object{},
		told: map[string][]chan struct{}{},
	}
	for _, list := range kinds() {
		if err := c.List(ctx, list); err != nil {
			return nil, err
		}
		go r.follow(ctx, c, list, list.GetResourceVersion())
	}
	return r, nil
}

func (r *Recorder) follow(ctx context.Context, c client.WithWatch, list client.ObjectList, version string) {
	for ctx.Err() == nil {
		w, err := c.Watch(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{
			ResourceVersion: version, AllowWatchBookmarks: true,
		}})
		if err != nil {
			r.breakOff(ctx, err)
			return
		}
		for e := range w.ResultChan() {
			o, ok := e.Object.(client.Object)
			if !ok {
				r.breakOff(ctx, apierrors.FromObject(e.Object))
				return
			}
			version = o.GetResourceVersion()
			if e.Type != watch.Bookmark {
				r.take(e.Type, o, time.Now())
			}
		}
	}
}

func (r *Recorder) breakOff(ctx context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() == nil && r.broken == nil {
		r.broken = fmt.Errorf("the watch that records changes has ended, so no run can be judged: %w", err)
	}
}

// Broken is why nothing can be judged any more; nil while all is well.
func (r *Recorder) Broken() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

func (r *Recorder) take(kind watch.EventType, o client.Object, at time.Time) {
	revision, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(err) // etcd's revisions are numbers
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	in := o.GetNamespace()
	if r.current[in] == nil {
		r.current[in] = map[types.UID]client.Object{}
	}
	change := history.Change{Revision: revision, At: at, After: o, Request: -1}
	if before := r.current[in][o.GetUID()]; before != nil {
		change.Before = before
	}
	r.current[in][o.GetUID()] = o
	if kind == watch.Deleted {
		change.After = nil
		delete(r.current[in], o.GetUID())
		if change.Before == nil {
			change.Before = o
		}
	}
	r.changes[in] = append(r.changes[in], change)
	for _, told := range r.told[in] {
		select {
		case told <- struct{}{}:
		default:
		}
	}
}

// Changes are those of a namespace, in the order of their commits.
func (r *Recorder) Changes(namespace string) []history.Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	changes := slices.Clone(r.changes[namespace])
	slices.SortStableFunc(changes, func(a, b history.Change) int { return int(a.Revision - b.Revision) })
	return changes
}

// State is what a namespace holds now.
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

// Tell has a channel told of every change in a namespace.
func (r *Recorder) Tell(namespace string, told chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told[namespace] = append(r.told[namespace], told)
}

// Forget drops what is known of a namespace.
func (r *Recorder) Forget(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.changes, namespace)
	delete(r.current, namespace)
	delete(r.told, namespace)
}

// CatchUp waits until the record of a namespace holds what the API server does.
// It asks anew each time: what it saw at first may be gone from both.
func (r *Recorder) CatchUp(ctx context.Context, c client.Client, namespace string) error {
	return Await(ctx, 10*time.Second, func() error {
		live, err := versions(ctx, c, namespace)
		if err != nil {
			return err
		}
		return r.holds(namespace, live)
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
	return live, nil
}

func (r *Recorder) holds(namespace string, live map[types.UID]string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.current[namespace]
	for uid, version := range live {
		if o := known[uid]; o == nil || older(o.GetResourceVersion(), version) {
			return fmt.Errorf("the record of %s is behind", namespace)
		}
	}
	for uid := range known {
		if _, ok := live[uid]; !ok {
			return fmt.Errorf("the record of %s is behind", namespace)
		}
	}
	return nil
}

func older(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }
