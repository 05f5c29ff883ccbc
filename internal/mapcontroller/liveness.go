// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// wedgedAfter is how long keys may wait, or be reconciled, without any pass
// finishing. No request takes as long, and a pass that fails finishes, too. So only
// a deadlock or a decision that never returns gets there, in which the leader renews its
// lease and does nothing. One such bug was found: with Go 1.26's time.ZoneBounds, a
// cron expression could loop for ever on the last day of a leap year (see
// internal/schedule/zone.go). A process that is restarted gets past such a day.
const wedgedAfter = 10 * time.Minute

// liveness is a health check of the controller of keys. A manager without the lease
// has no queue and reconciles nothing, so it is always healthy.
type liveness struct {
	reconciler reconcile.TypedReconciler[Request]
	clock      clock.PassiveClock
	// waiting returns the number of keys that are due. If a lock of the queue is
	// never released, it does not return, and the probe times out.
	waiting func() int

	begun, finished atomic.Int64

	mu sync.Mutex
	// since is the first check that found work, with as many passes finished as now;
	// zero if the last one found none.
	since time.Time
	seen  int64
}

// Reconcile counts the passes.
func (l *liveness) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	l.begun.Add(1)
	// Deferred, because a panic is recovered from and counts as an error.
	defer l.finished.Add(1)
	return l.reconciler.Reconcile(ctx, req)
}

// Check returns an error while the controller is wedged. It judges by two checks
// that are far enough apart, so that it does not matter how often it is called.
func (l *liveness) Check(*http.Request) error {
	waiting := l.waiting()
	finished, begun := l.finished.Load(), l.begun.Load() // in this order: a pass must not finish before it began
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if waiting == 0 && begun == finished {
		l.since = time.Time{}
		return nil
	}
	if l.since.IsZero() || finished != l.seen {
		l.since, l.seen = now, finished
	}
	if stalled := now.Sub(l.since); stalled > wedgedAfter {
		return fmt.Errorf("no pass has finished for %s: %d keys are being reconciled, %d are waiting",
			stalled.Round(time.Second), begun-finished, waiting)
	}
	return nil
}
