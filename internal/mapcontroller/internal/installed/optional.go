// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Optional are the kinds that may be missing. Until the cache has all of them, none counts
// as there: decisions are told so.
type Optional struct {
	// Wanted is signaled when a program needs kinds that are missing: until then nobody
	// looks for them, so that a cluster without them costs no request.
	Wanted chan struct{}
	// Back is called when all kinds are there again.
	Back func()

	mu    sync.Mutex
	kinds []schema.GroupVersionKind
	// watched is set once there are informers of the kinds.
	watched bool
	absent  map[schema.GroupVersionKind]bool
}

// NewOptional returns kinds of which none counts as there.
func NewOptional(kinds []schema.GroupVersionKind) *Optional {
	return &Optional{Wanted: make(chan struct{}, 1), kinds: kinds, absent: map[schema.GroupVersionKind]bool{}}
}

// Missing returns all kinds if one of them is missing.
func (o *Optional) Missing() []schema.GroupVersionKind {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.kinds) == 0 || o.watched && len(o.absent) == 0 {
		return nil
	}
	return o.kinds
}

// Want says that the kinds are needed.
func (o *Optional) Want() {
	if len(o.Missing()) > 0 {
		signal(o.Wanted)
	}
}

// Lacks returns whether a kind is missing.
func (o *Optional) Lacks(kind schema.GroupVersionKind) bool {
	return slices.Contains(o.Missing(), kind)
}

// Watches says that the cache has all kinds from now on.
func (o *Optional) Watches() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watched = true
}

// Listed is called when the cache has listed a kind, or could not.
func (o *Optional) Listed(kind schema.GroupVersionKind, err error) {
	if !slices.Contains(o.kinds, kind) || err != nil && !apierrors.IsNotFound(err) {
		return
	}
	o.mu.Lock()
	was := o.absent[kind]
	if delete(o.absent, kind); err != nil {
		o.absent[kind] = true
	}
	back := was && o.watched && len(o.absent) == 0
	o.mu.Unlock()
	if back {
		o.Back()
	}
}
