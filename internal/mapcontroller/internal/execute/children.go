// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// label finds the children of an output that carry no label, and labels those that its kind
// claims. Only then the cache has them. Those that stay away are looked for ever more rarely.
func (r *run) label(ctx context.Context, output client.Object) (err error) {
	now := r.executor.Guard.Clock.Now()
	if !r.executor.sought.due(output.GetUID(), now) {
		return nil
	}
	defer func() {
		if err != nil {
			r.executor.sought.forget(output.GetUID())
		}
	}()
	kind := r.executor.Kinds.Output(output).Children
	found, err := r.executor.Guard.Offspring(ctx, output)
	errs := []error{err}
	for _, child := range found {
		ours := true
		if kind.Claims != nil {
			ours, err = kind.Claims(ctx, r.executor.Guard.Live, output, child)
			errs = append(errs, err)
		}
		if !ours {
			continue
		}
		labeled := child.DeepCopyObject().(client.Object)
		labels := labeled.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[kind.Label] = output.GetName()
		labeled.SetLabels(labels)
		errs = append(errs, client.IgnoreNotFound(r.executor.patch(ctx, child, labeled)))
	}
	return errors.Join(errs...)
}

// The children of an output are looked for again after half of the time since they were first
// looked for, within these bounds, for a day: nobody may ever make them, and each pass over its
// key asks.
const (
	seekSoonest = time.Second
	seekLatest  = time.Hour
	seekFor     = 24 * time.Hour
)

// sought is when the children of outputs were looked for first and last, by the outputs' UIDs.
type sought struct {
	mu sync.Mutex
	at map[types.UID]search
}

type search struct{ first, last time.Time }

func (s search) next() time.Time {
	return s.last.Add(min(max(s.last.Sub(s.first)/2, seekSoonest), seekLatest))
}

// due returns whether the children of an output are to be looked for now, and notes it.
func (s *sought) due(output types.UID, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.at[output]
	switch {
	case !known || now.Before(before.last): // the clock was set back
		before.first = now
	case now.Before(before.next()), before.last.Sub(before.first) >= seekFor:
		return false
	}
	if s.at == nil {
		s.at = map[types.UID]search{}
	}
	if len(s.at) >= 1000 { // what is no longer asked for is gone, or complete
		maps.DeleteFunc(s.at, func(_ types.UID, a search) bool { return now.Sub(a.last) > 2*seekLatest })
	}
	s.at[output] = search{first: before.first, last: now}
	return true
}

func (s *sought) forget(output types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.at, output)
}
