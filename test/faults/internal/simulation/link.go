// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// link is the network of one operator.
type link struct {
	*world
	started time.Time
	// alive ends with the operator: what the API server has received it does, and nothing is delivered any more.
	alive context.Context
	cut   context.CancelFunc
	crash func()
	// busy counts the requests that are on their way, other than watches.
	busy int
	// reads are the times at which it last read an object.
	reads map[string]time.Time
	// shown is how much of the log the operator was shown of each kind; behind is how many changes its first list lacks.
	shown  [kube.Namespaces + 1]int
	behind [kube.Namespaces + 1]int
	// caughtUp is when it was last shown what it should have seen since lateSince.
	caughtUp, lateSince time.Time
	// frozen is until when its watches show nothing new; relist ends them then, as when what they missed is gone.
	frozen [kube.Namespaces + 1]time.Time
	relist [kube.Namespaces + 1]bool
}

const (
	// lateAfter is how old an event is that an operator should have seen.
	lateAfter = time.Second
	// lateFor is how long an operator that has caught up may still act on what it was shown before.
	lateFor = 30 * time.Second
)

// late returns since when an operator has not been shown all there is.
func (l *link) late() (since time.Time, is bool) {
	if time.Since(l.caughtUp) < lateFor {
		return l.lateSince, true
	}
	from := min(l.shown[kube.Schedules], l.shown[kube.Claims], l.shown[kube.Snapshots])
	for at, c := range l.log[from:] {
		if c.Kind != kube.Namespaces && from+at >= l.shown[c.Kind] && time.Since(c.At) > lateAfter {
			return c.At.Add(-time.Minute), true
		}
	}
	return since, false
}

// show notes how much of the log an operator has been shown of a kind.
func (l *link) show(k kube.Kind, at int) {
	for _, c := range l.log[l.shown[k]:max(at, l.shown[k])] {
		if l.shown[k] > 0 && c.Kind == k && time.Since(c.At) > lateAfter {
			l.caughtUp, l.lateSince = time.Now(), c.At.Add(-time.Minute)
			break
		}
	}
	l.shown[k] = max(at, l.shown[k])
}

// faults says how often requests fail for now: one in n, 0 for never.
type faults struct {
	// crashes kill the operator before or after a write is committed, refusals are answers without an effect, lost answers belong
	// to writes that were committed, and delays hold a request up for seconds.
	crashes, refusals, lost, delays int
	// staleLists: what an operator lists first may be some changes behind.
	staleLists bool
}

var errDown = errors.New("read tcp 127.0.0.1:40000->127.0.0.1:6443: connection reset by peer")

// RoundTrip implements http.RoundTripper.
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	q, err := parse(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(l.alive, cancel)
	if q.verb == "watch" {
		return l.watch(ctx, r, q, func() { stop(); cancel() })
	}
	defer cancel()
	defer stop()
	l.mu.Lock()
	l.busy++
	defer l.locked(func() { l.busy-- })
	l.sent++
	write := q.isWrite()
	there, back := l.delay(), l.delay()
	if write {
		there = min(there, time.Second) // which the judge allows for
	}
	f := l.faults
	crashes, refused, lost := write && oneIn(l.rand, f.crashes), oneIn(l.rand, f.refusals), write && oneIn(l.rand, f.lost)
	before := oneIn(l.rand, 2)
	l.mu.Unlock()

	if sleep(ctx, there); ctx.Err() != nil {
		return nil, errDown
	}
	l.mu.Lock()
	if crashes && before || l.alive.Err() != nil {
		l.crash()
		l.mu.Unlock()
		return nil, errDown
	}
	var object any
	if refused {
		l.refused++
		err = l.refusal(q)
	} else {
		object, err = l.serve(q)
	}
	answer := l.answer(r, object, err)
	if crashes {
		l.crash()
	}
	l.mu.Unlock()
	if sleep(ctx, back); ctx.Err() != nil || lost {
		return nil, errDown
	}
	return answer, nil
}

// delay draws how long a request or its answer is on its way.
func (l *link) delay() time.Duration {
	if oneIn(l.rand, l.faults.delays) {
		return between(l.rand, 100*time.Millisecond, 9*time.Second)
	}
	return between(l.rand, 200*time.Microsecond, 3*time.Millisecond)
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// refusal draws an error that an API server answers a request like this with.
func (l *link) refusal(q request) error {
	errs := []error{
		apierrors.NewTooManyRequests("the server has received too many requests and has asked us to try again later", 1),
		apierrors.NewInternalError(errors.New("etcdserver: leader changed")),
		apierrors.NewServiceUnavailable("the server is currently unable to handle the request"),
	}
	switch q.verb {
	case "create":
		errs = append(errs, apierrors.NewForbidden(q.resource, q.name, errors.New("exceeded quota: snapshots, used: 10, limited: 10")))
	case "patch", "delete":
		errs = append(errs, apierrors.NewConflict(q.resource, q.name, errors.New("the object has been modified")))
	}
	return pick(l.rand, errs...)
}

// asOf returns the objects of a kind as they were some changes ago, if this is the first list of them, and how much of the log that is.
func (l *link) asOf(k kube.Kind, objects []client.Object) ([]client.Object, int) {
	at, then := len(l.log), map[types.UID]client.Object{}
	for _, o := range objects {
		then[o.GetUID()] = o
	}
	for ; l.behind[k] > 0 && at > 1; at-- {
		c := l.log[at-1]
		if c.Kind != k {
			continue
		}
		l.behind[k]--
		if c.After != nil {
			delete(then, c.After.GetUID())
		}
		if c.Before != nil {
			then[c.Before.GetUID()] = c.Before
		}
	}
	l.behind[k] = 0
	objects = nil
	for _, o := range then {
		objects = append(objects, o)
	}
	return objects, at
}

// watch answers a watch with the events after a revision, each some time after it happened.
func (l *link) watch(ctx context.Context, r *http.Request, q request, done func()) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused := oneIn(l.rand, l.faults.refusals)
	if refused || l.alive.Err() != nil || !l.known(q) {
		defer done()
		if !refused {
			return nil, errDown
		}
		return l.answer(r, nil, l.refusal(q)), nil
	}
	from, err := strconv.ParseInt(q.query.Get("resourceVersion"), 10, 64)
	must(err)
	in, out := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = out.CloseWithError(errDown) })
	go func() {
		defer done()
		defer stop()
		_ = out.CloseWithError(l.stream(ctx, q, from, json.NewEncoder(out)))
	}()
	answer := l.answer(r, nil, nil)
	answer.Body, answer.ContentLength = in, -1
	return answer, nil
}

func (l *link) known(q request) bool {
	return q.known || q.resource.Resource == "volumesnapshotclasses"
}

type event struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

func (l *link) stream(ctx context.Context, q request, from int64, out *json.Encoder) error {
	matches, at := q.matcher(), 0
	for ctx.Err() == nil {
		l.mu.Lock()
		var events []event
		wait, frozen := l.committed, time.Until(l.frozen[q.kind])
		if frozen <= 0 && q.known && l.relist[q.kind] {
			l.relist[q.kind] = false
			status := apierrors.NewResourceExpired("too old resource version").ErrStatus
			events, at = []event{{"ERROR", &status}}, -1
		}
		for ; frozen <= 0 && at >= 0 && at < len(l.log); at++ {
			c := l.log[at]
			if c.Kind != q.kind || !q.known || c.Revision <= from {
				continue
			}
			if c.After == nil { // the last state, with the revision of the removal
				c.After = c.Before.DeepCopyObject().(client.Object)
				c.After.SetResourceVersion(strconv.FormatInt(c.Revision, 10))
				if matches(c.Before) {
					events = append(events, event{"DELETED", q.present(c.After)})
				}
				continue
			}
			switch was, is := matches(c.Before), matches(c.After); {
			case is && was:
				events = append(events, event{"MODIFIED", q.present(c.After)})
			case is:
				events = append(events, event{"ADDED", q.present(c.After)})
			case was:
				events = append(events, event{"DELETED", q.present(c.After)})
			}
		}
		l.mu.Unlock()
		for _, e := range events {
			if err := out.Encode(e); err != nil {
				return err
			}
		}
		if at < 0 {
			return io.EOF
		}
		l.locked(func() {
			if q.known && frozen <= 0 {
				l.show(q.kind, at)
			}
			if frozen <= 0 {
				frozen = between(l.rand, time.Millisecond, 40*time.Millisecond)
			}
		})
		if !q.known || at == len(l.log) {
			select {
			case <-ctx.Done():
			case <-wait:
			}
		}
		sleep(ctx, min(frozen, 10*time.Minute)) // it may be thawed before
	}
	return errDown
}

func codeOf(err error) int {
	status := apierrors.APIStatus(nil)
	if asStatus(err, &status) {
		return int(status.Status().Code)
	}
	return http.StatusOK
}

func asStatus(err error, status *apierrors.APIStatus) bool {
	if err != nil && !errors.As(err, status) {
		panic(fmt.Sprintf("not an answer: %v", err))
	}
	return err != nil
}
