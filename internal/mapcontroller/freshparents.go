// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// confirmedFor is how old a live read may be when a delete that rests on it is
// sent.
const confirmedFor = 5 * time.Second

// freshFor is how long a live read of a parent is shared by the keys that delete
// at about the same time. It leaves the rest of confirmedFor for the other reads
// and the deletes.
const freshFor = 3 * time.Second

// freshParents reads parents live, each at most once per freshFor.
type freshParents[P client.Object] struct {
	live  client.Reader
	clock clock.PassiveClock
	empty func() P

	mu    sync.Mutex
	reads map[types.NamespacedName]*freshRead[P]
}

type freshRead[P client.Object] struct {
	mu     sync.Mutex
	at     time.Time
	parent P
}

// get returns the parent as it was on the API server at most freshFor ago, and
// when that was, or the error of the read, which is not shared.
func (f *freshParents[P]) get(ctx context.Context, name types.NamespacedName) (P, time.Time, error) {
	f.mu.Lock()
	if f.reads == nil {
		f.reads = map[types.NamespacedName]*freshRead[P]{}
	}
	r := f.reads[name]
	if r == nil {
		r = &freshRead[P]{}
		f.reads[name] = r
	}
	f.mu.Unlock()

	r.mu.Lock()
	defer r.mu.Unlock()
	// Without the monotonic reading, which stands still while a machine sleeps.
	now := f.clock.Now().Round(0)
	if age := now.Sub(r.at); age >= 0 && age < freshFor {
		return r.parent, r.at, nil
	}
	parent := f.empty()
	err := f.live.Get(ctx, name, parent)
	if err != nil {
		r.at = time.Time{}
		if apierrors.IsNotFound(err) {
			f.forget(name)
		}
		return parent, now, err
	}
	r.at, r.parent = now, parent
	return parent, now, nil
}

func (f *freshParents[P]) forget(name types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.reads, name)
}
