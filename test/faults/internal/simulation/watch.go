// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/api"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// view is what an operator is shown of the API server by its informers.
type view struct {
	// shown is how much of the log it was shown of each kind; behind is how many changes its first list lacks.
	shown, behind [kube.Kinds]int
	// caughtUp is when it was last shown what it should have seen since lateSince.
	caughtUp, lateSince time.Time
	// frozen is until when its watches show nothing new; relist ends them then, as when what they missed is gone.
	frozen [kube.Kinds]time.Time
	relist [kube.Kinds]bool
}

const (
	// lateAfter is how old an event is that an operator should have seen.
	lateAfter = time.Second
	// lateFor is how long an operator that has caught up may still act on what it was shown before.
	lateFor = 30 * time.Second
)

// late returns since when an operator has not been shown all there is.
func (o *operator) late() (since time.Time, is bool) {
	if time.Since(o.caughtUp) < lateFor {
		return o.lateSince, true
	}
	from := min(o.shown[kube.Schedules], o.shown[kube.Claims], o.shown[kube.Snapshots])
	for at, c := range o.log[from:] {
		if from+at >= o.shown[c.Kind] && time.Since(c.At) > lateAfter {
			return c.At.Add(-time.Minute), true
		}
	}
	return since, false
}

// show notes how much of the log an operator has been shown of a kind.
func (o *operator) show(k kube.Kind, at int) {
	for _, c := range o.log[o.shown[k]:max(at, o.shown[k])] {
		if o.shown[k] > 0 && c.Kind == k && time.Since(c.At) > lateAfter {
			o.caughtUp, o.lateSince = time.Now(), c.At.Add(-time.Minute)
			break
		}
	}
	o.shown[k] = max(at, o.shown[k])
}

// list answers an informer's list, the first one as the objects were some changes ago.
func (o *operator) list(q kube.Request) any {
	for at, objects := range o.past(q.Kind) {
		if o.behind[q.Kind]--; o.behind[q.Kind] < 0 || at <= 1 {
			o.behind[q.Kind] = 0
			o.show(q.Kind, at)
			return q.List(objects, int64(at))
		}
	}
	return q.List(nil, 0)
}

// watch answers a watch with the events after a revision, each some time after it happened.
func (o *operator) watch(ctx context.Context, r *http.Request, q kube.Request, done func()) (*http.Response, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case oneIn(o.rand, o.faults.refusals):
		done()
		return o.respond(r, nil, o.refusal(q)), nil
	case o.alive.Err() != nil:
		done()
		return nil, api.ErrDown
	}
	in, out := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = out.CloseWithError(api.ErrDown) })
	go func() {
		defer done()
		defer stop()
		_ = out.CloseWithError(o.stream(ctx, q, json.NewEncoder(out)))
	}()
	response := o.respond(r, nil, nil)
	response.Body, response.ContentLength = in, -1
	return response, nil
}

func (o *operator) stream(ctx context.Context, q kube.Request, out *json.Encoder) error {
	for at := 0; ctx.Err() == nil; {
		o.mu.Lock()
		var events []metav1.WatchEvent
		committed, frozen, expired := o.committed, time.Until(o.frozen[q.Kind]), false
		if frozen <= 0 {
			if expired = o.relist[q.Kind]; expired {
				o.relist[q.Kind] = false
				status := &apierrors.NewResourceExpired("too old resource version").ErrStatus
				events = []metav1.WatchEvent{{Type: "ERROR", Object: runtime.RawExtension{Object: status}}}
			}
			for ; !expired && at < len(o.log); at++ {
				if event, ok := q.Event(o.log[at]); ok {
					events = append(events, event)
				}
			}
		}
		o.mu.Unlock()
		for _, e := range events {
			if err := out.Encode(e); err != nil {
				return err
			}
		}
		if expired {
			return io.EOF
		}
		o.mu.Lock()
		upToDate := at == len(o.log)
		if frozen <= 0 {
			o.show(q.Kind, at)
			frozen = between(o.rand, time.Millisecond, 40*time.Millisecond)
		}
		o.mu.Unlock()
		if upToDate {
			select {
			case <-ctx.Done():
			case <-committed:
			}
		}
		api.Sleep(ctx, min(frozen, 10*time.Minute)) // it may be thawed before
	}
	return api.ErrDown
}
