// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/record"
)

// History is every VolumeSnapshot that was created in a namespace.
type History struct {
	mu     sync.Mutex
	order  []*Snapshot
	broken error
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
func (s *Snapshot) Slot() time.Time {
	GinkgoHelper()
	slot, err := time.Parse(time.RFC3339, s.First.Annotations[v1alpha1.AnnotationScheduledAt])
	Expect(err).NotTo(HaveOccurred(), s.First.Name)
	return slot
}

// Age is the age at which the deletion of the snapshot began.
func (s *Snapshot) Age() time.Duration {
	return s.Last.DeletionTimestamp.Sub(s.First.CreationTimestamp.Time)
}

// Recorded creates a namespace with bound PVCs and starts its history.
func (c *Cluster) Recorded(ctx context.Context, name string, claims int) (namespace string, h *History) {
	GinkgoHelper()
	namespace = c.Namespace(ctx, name)
	c.BoundClaims(ctx, namespace, claims)
	return namespace, c.Record(ctx, namespace)
}

// Record starts the history of a namespace.
func (c *Cluster) Record(ctx context.Context, namespace string) *History {
	GinkgoHelper()
	h := &History{}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	wait, err := record.Follow(ctx, c.Client, &snapshotv1.VolumeSnapshotList{}, h.add, client.InNamespace(namespace))
	Expect(err).NotTo(HaveOccurred())
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

func (h *History) add(event watch.EventType, o client.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.order, func(s *Snapshot) bool { return s.First.UID == o.GetUID() })
	if i < 0 {
		i = len(h.order)
		h.order = append(h.order, &Snapshot{First: o.(*snapshotv1.VolumeSnapshot)})
	}
	h.order[i].Last = o.(*snapshotv1.VolumeSnapshot)
	h.order[i].Deleted = event == watch.Deleted
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

// Count returns the number of snapshots so far.
func (h *History) Count() int { return len(h.All()) }

// Of returns the snapshots of one PVC so far.
func (h *History) Of(claim string) []Snapshot {
	return slices.DeleteFunc(h.All(), func(s Snapshot) bool { return s.Claim() != claim })
}

// ExpectInOrder fails the spec unless the slots of every PVC were taken in order, each once.
func (h *History) ExpectInOrder() {
	GinkgoHelper()
	last, wrong := map[string]time.Time{}, []string{}
	for _, s := range h.All() {
		key := s.First.Labels[v1alpha1.LabelMapKey]
		if slot := s.Slot(); slot.After(last[key]) {
			last[key] = slot
		} else {
			wrong = append(wrong, fmt.Sprintf("%s of %s for %s", s.First.Name, s.Claim(), slot))
		}
	}
	Expect(wrong).To(BeEmpty(), "slots of a PVC should be taken in order, each once")
}
