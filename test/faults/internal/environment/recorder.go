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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/internal/record"
)

// Recorder records every change in all namespaces: of what they contain, of themselves, and of the ClusterSnapshotSchedules with their
// names.
type Recorder struct {
	mu      sync.Mutex
	changes map[string][]Change
	broken  error
}

// Change is one write to one object.
type Change struct {
	// Revision is the resulting resourceVersion, and At when the change was seen.
	Revision int64
	At       time.Time
	// Object is what the object is now, or was before it was Removed.
	Object  client.Object
	Removed bool
}

func emptyRecorder() *Recorder { return &Recorder{changes: map[string][]Change{}} }

func newRecorder(ctx context.Context, c client.WithWatch) (*Recorder, error) {
	r := emptyRecorder()
	for _, list := range []client.ObjectList{
		&v1alpha1.SnapshotScheduleList{}, &corev1.PersistentVolumeClaimList{}, &snapshotv1.VolumeSnapshotList{},
		&v1alpha1.ClusterSnapshotScheduleList{}, &corev1.NamespaceList{},
	} {
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
	r.changes[namespace] = append(r.changes[namespace], Change{Revision: revision, At: at, Object: o, Removed: kind == watch.Deleted})
}

// current returns the objects of a namespace. The mutex is held.
func (r *Recorder) current(namespace string) map[types.UID]client.Object {
	objects := map[types.UID]client.Object{}
	for _, c := range r.changes[namespace] {
		if objects[c.Object.GetUID()] = c.Object; c.Removed {
			delete(objects, c.Object.GetUID())
		}
	}
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

// State returns what a namespace holds now, sorted by name.
func (r *Recorder) State(namespace string) *judge.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return judge.StateOf(slices.SortedFunc(maps.Values(r.current(namespace)), func(a, b client.Object) int {
		return strings.Compare(a.GetName(), b.GetName())
	}))
}

// Forget drops everything about a namespace.
func (r *Recorder) Forget(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.changes, namespace)
}

// CatchUp waits until the record of a namespace holds what the API server does. It lists again each time, because objects of an earlier
// list may have been deleted since.
func (r *Recorder) CatchUp(ctx context.Context, c client.Client, namespace string) error {
	return await(ctx, 10*time.Second, func() error {
		live, err := judge.Read(ctx, c, namespace)
		if err != nil {
			return err
		}
		return r.matches(namespace, live)
	})
}

func (r *Recorder) matches(namespace string, live []client.Object) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	recorded := r.current(namespace)
	behind := len(recorded) > len(live) // something was removed
	for _, now := range live {
		o := recorded[now.GetUID()]
		behind = behind || o == nil || older(o.GetResourceVersion(), now.GetResourceVersion())
	}
	if behind {
		return fmt.Errorf("the record of %s is behind", namespace)
	}
	return nil
}

func older(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }
