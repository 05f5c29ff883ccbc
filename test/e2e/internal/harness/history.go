// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"sync"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// History is every VolumeSnapshot that was ever in a namespace, as a watch
// without a gap has seen them.
type History struct {
	mu     sync.Mutex
	seen   map[types.UID]*Seen
	order  []*Seen
	live   map[string]int
	most   map[string]int
	broken error
	onAdd  func(added int)
}

// Seen is one VolumeSnapshot.
type Seen struct {
	// First is its first state, Last the latest.
	First, Last *snapshotv1.VolumeSnapshot
	Gone        bool
}

// Claim is the PVC of a snapshot.
func (s *Seen) Claim() string { return *s.First.Spec.Source.PersistentVolumeClaimName }

// Slot is what the snapshot was taken for.
func (s *Seen) Slot() string { return s.First.Annotations[v1alpha1.AnnotationScheduledAt] }

func (s *Seen) String() string {
	return fmt.Sprintf("%s of %s for %s", s.First.Name, s.Claim(), s.Slot())
}

// Record starts the history of a namespace.
func (c *Cluster) Record(ctx context.Context, namespace string) *History {
	h := &History{seen: map[types.UID]*Seen{}, live: map[string]int{}, most: map[string]int{}}
	all := &snapshotv1.VolumeSnapshotList{}
	must(c.Client.List(ctx, all, client.InNamespace(namespace)), "list snapshots")
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer GinkgoRecover()
		// The API server may end a watch at any time. One that goes on from the
		// last event leaves no gap.
		for version := all.ResourceVersion; ctx.Err() == nil; {
			w, err := c.Client.Watch(ctx, &snapshotv1.VolumeSnapshotList{}, client.InNamespace(namespace),
				&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
			if err != nil {
				h.breakOff(ctx, err)
				return
			}
			for e := range w.ResultChan() {
				v, ok := e.Object.(*snapshotv1.VolumeSnapshot)
				if !ok {
					h.breakOff(ctx, apierrors.FromObject(e.Object))
					return
				}
				version = v.ResourceVersion
				h.take(e.Type, v)
			}
		}
	}()
	DeferCleanup(func() {
		cancel()
		<-done
	})
	return h
}

func (h *History) breakOff(ctx context.Context, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() == nil {
		h.broken = err
	}
}

func (h *History) take(event watch.EventType, v *snapshotv1.VolumeSnapshot) {
	h.mu.Lock()
	s := h.seen[v.UID]
	added := 0
	if s == nil {
		s = &Seen{First: v}
		h.seen[v.UID] = s
		h.order = append(h.order, s)
		claim := s.Claim()
		h.live[claim]++
		h.most[claim] = max(h.most[claim], h.live[claim])
		added = len(h.order)
	}
	s.Last = v
	if event == watch.Deleted {
		s.Gone = true
		h.live[s.Claim()]--
	}
	onAdd := h.onAdd
	h.mu.Unlock()
	if added > 0 && onAdd != nil {
		onAdd(added)
	}
}

// OnAdd has a function called with the number of each snapshot that is added.
func (h *History) OnAdd(f func(added int)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onAdd = f
}

// All are the snapshots so far, in the order of their creation.
func (h *History) All() []Seen {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken != nil {
		Fail("the watch of snapshots has ended, what it did not see can't be judged: "+h.broken.Error(), 1)
	}
	all := make([]Seen, len(h.order))
	for i, s := range h.order {
		all[i] = *s
	}
	return all
}

// Of are the snapshots of one PVC so far.
func (h *History) Of(claim string) []Seen {
	var found []Seen
	for _, s := range h.All() {
		if s.Claim() == claim {
			found = append(found, s)
		}
	}
	return found
}

// Most is how many snapshots of a PVC there were at a time, at most.
func (h *History) Most(claim string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.most[claim]
}

// Twice are the slots of a PVC that were taken more than once: there should be
// none.
func (h *History) Twice() []string {
	first := map[string]string{}
	var twice []string
	for _, s := range h.All() {
		key := s.First.Labels[v1alpha1.LabelMapKey] + " " + s.Slot()
		if before, ok := first[key]; ok {
			twice = append(twice, before+" and "+s.String())
		}
		first[key] = s.String()
	}
	return twice
}
