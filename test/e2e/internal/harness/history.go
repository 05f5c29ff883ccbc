// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"sync"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/record"
)

// History is every VolumeSnapshot that was created in a namespace.
type History struct {
	mu     sync.Mutex
	byUID  map[types.UID]*Snapshot
	order  []*Snapshot
	live   map[string]int
	most   map[string]int
	broken error
	onAdd  func(added int)
}

// Snapshot is the history of one VolumeSnapshot.
type Snapshot struct {
	// First is its first state, Last the latest.
	First, Last *snapshotv1.VolumeSnapshot
	Deleted     bool
}

// Claim is the name of the PVC.
func (s *Snapshot) Claim() string { return *s.First.Spec.Source.PersistentVolumeClaimName }

// Slot is the slot that the snapshot was taken for.
func (s *Snapshot) Slot() string { return s.First.Annotations[v1alpha1.AnnotationScheduledAt] }

func (s *Snapshot) String() string {
	return fmt.Sprintf("%s of %s for %s", s.First.Name, s.Claim(), s.Slot())
}

// Recorded creates a namespace with bound PVCs and starts its history.
func (c *Cluster) Recorded(ctx context.Context, name string, claims int) (namespace string, h *History) {
	namespace = c.Namespace(ctx, name)
	c.BoundClaims(ctx, namespace, claims)
	return namespace, c.Record(ctx, namespace)
}

// Record starts the history of a namespace.
func (c *Cluster) Record(ctx context.Context, namespace string) *History {
	h := &History{byUID: map[types.UID]*Snapshot{}, live: map[string]int{}, most: map[string]int{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	changed := func(e watch.EventType, o client.Object) {
		defer GinkgoRecover()
		h.add(e, o.(*snapshotv1.VolumeSnapshot))
	}
	wait, err := record.Follow(ctx, c.Client, &snapshotv1.VolumeSnapshotList{}, changed, client.InNamespace(namespace))
	must(err, "list snapshots")
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := wait()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.broken = err
	}()
	DeferCleanup(func() {
		cancel()
		<-done
	})
	return h
}

func (h *History) add(event watch.EventType, v *snapshotv1.VolumeSnapshot) {
	h.mu.Lock()
	s := h.byUID[v.UID]
	added := 0
	if s == nil {
		s = &Snapshot{First: v}
		h.byUID[v.UID] = s
		h.order = append(h.order, s)
		claim := s.Claim()
		h.live[claim]++
		h.most[claim] = max(h.most[claim], h.live[claim])
		added = len(h.order)
	}
	s.Last = v
	if event == watch.Deleted {
		s.Deleted = true
		h.live[s.Claim()]--
	}
	onAdd := h.onAdd
	h.mu.Unlock()
	if added > 0 && onAdd != nil {
		onAdd(added)
	}
}

// OnAdd sets a function that is called with the number of each snapshot that is added.
func (h *History) OnAdd(f func(added int)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onAdd = f
}

// All returns the snapshots so far, in the order of their creation.
func (h *History) All() []Snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken != nil {
		Fail("the watch of snapshots has ended, so the history is incomplete: "+h.broken.Error(), 1)
	}
	all := make([]Snapshot, len(h.order))
	for i, s := range h.order {
		all[i] = *s
	}
	return all
}

// Of returns the snapshots of one PVC so far.
func (h *History) Of(claim string) []Snapshot {
	var found []Snapshot
	for _, s := range h.All() {
		if s.Claim() == claim {
			found = append(found, s)
		}
	}
	return found
}

// MaxAtOnce is the largest number of snapshots of a PVC that existed at the same time.
func (h *History) MaxAtOnce(claim string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.most[claim]
}

// Duplicates returns the slots of a PVC that have more than one snapshot.
func (h *History) Duplicates() []string {
	first := map[string]string{}
	var duplicates []string
	for _, s := range h.All() {
		key := s.First.Labels[v1alpha1.LabelMapKey] + " " + s.Slot()
		if before, ok := first[key]; ok {
			duplicates = append(duplicates, before+" and "+s.String())
		}
		first[key] = s.String()
	}
	return duplicates
}
