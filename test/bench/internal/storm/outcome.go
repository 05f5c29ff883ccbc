// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Outcome is what became of a storm.
type Outcome struct {
	Limit, Claims int
	// Took is the time until all snapshots were cut.
	Took time.Duration
	// MostInFlight is the largest number of snapshots that were uncut at a time.
	MostInFlight int
	// Missed counts the snapshots that were uncut for longer than readyDeadline, and Longest
	// is how long one was.
	Missed  int
	Longest time.Duration
	// TenantCreated and TenantCut are the times that the PVC of another namespace waited from
	// the moment at which it was due.
	TenantCreated, TenantCut time.Duration
}

// Rate is how many snapshots were cut per second.
func (o Outcome) Rate() float64 { return float64(o.Claims) / o.Took.Seconds() }

// observer watches the snapshots of a storm.
type observer struct {
	now func() time.Time
	// told receives a value when something has changed.
	told chan struct{}

	mu        sync.Mutex
	dueSince  map[string]time.Time
	snapshots map[types.UID]*observed
	uncut     int
	most      int
}

// observed is one snapshot: its namespace, and when it was seen first, and seen cut.
type observed struct {
	namespace    string
	created, cut time.Time
}

func newObserver(now func() time.Time) *observer {
	return &observer{now: now, told: make(chan struct{}, 1), dueSince: map[string]time.Time{}, snapshots: map[types.UID]*observed{}}
}

func (s *observer) due(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dueSince[namespace] = s.now()
}

func (s *observer) changed(_ watch.EventType, o client.Object) {
	v := o.(*snapshotv1.VolumeSnapshot)
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.snapshots[v.UID]
	if found == nil {
		found = &observed{namespace: v.Namespace, created: s.now()}
		s.snapshots[v.UID] = found
		s.uncut++
		s.most = max(s.most, s.uncut)
	}
	if v.Status != nil && v.Status.CreationTime != nil && found.cut.IsZero() {
		found.cut = s.now()
		s.uncut--
	}
	select {
	case s.told <- struct{}{}:
	default:
	}
}

// cut returns how many snapshots of a namespace were cut.
func (s *observer) cut(namespace string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.snapshots {
		if v.namespace == namespace && !v.cut.IsZero() {
			n++
		}
	}
	return n
}

func (s *observer) finished(namespace string, claims int) bool { return s.cut(namespace) >= claims }

func (s *observer) outcome(j Job) Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := Outcome{Limit: j.Limit, Claims: j.Claims, MostInFlight: s.most}
	for _, v := range s.snapshots {
		waited := v.cut.Sub(v.created)
		o.Longest = max(o.Longest, waited)
		if waited >= j.ReadyDeadline {
			o.Missed++
		}
		since := v.cut.Sub(s.dueSince[v.namespace])
		if v.namespace == tenant {
			o.TenantCreated, o.TenantCut = v.created.Sub(s.dueSince[tenant]), since
		} else {
			o.Took = max(o.Took, since)
		}
	}
	return o
}
