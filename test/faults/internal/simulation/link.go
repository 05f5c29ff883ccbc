// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/httpapi"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// faults says how often requests fail for now: one in n, 0 for never.
type faults struct {
	// crashes kill the operator before or after a write is committed, refusals are answers without an effect, lost answers belong
	// to writes that were committed, and delays hold a request up for seconds.
	crashes, refusals, lost, delays int
}

// theNamespace is what the API server says of the namespace of all objects, which stays.
var theNamespace = &metav1.PartialObjectMetadata{TypeMeta: kube.PartialMeta, ObjectMeta: metav1.ObjectMeta{Name: kube.Namespace}}

// RoundTrip implements http.RoundTripper: the network of one operator. What the API server has received before the operator ends, it does.
func (o *operator) RoundTrip(r *http.Request) (*http.Response, error) {
	q, err := kube.ParseRequest(r)
	if apierrors.IsNotFound(err) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.sent++
		if q.Resource == "namespaces" {
			return o.respond(r, theNamespace, nil), nil
		}
		return o.respond(r, nil, err), nil
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(o.alive, cancel)
	if q.Verb == "watch" {
		return o.watch(ctx, r, q, func() { stop(); cancel() })
	}
	defer cancel()
	defer stop()
	o.mu.Lock()
	o.busy++
	defer o.locked(func() { o.busy-- })
	o.sent++
	write := q.IsWrite()
	there, back := o.delay(), o.delay()
	if write {
		there = min(there, time.Second) // which the judge allows for
	}
	f := o.faults
	crashes, refused, lost := write && oneIn(o.rand, f.crashes), oneIn(o.rand, f.refusals), write && oneIn(o.rand, f.lost)
	before := oneIn(o.rand, 2)
	o.mu.Unlock()

	if httpapi.Sleep(ctx, there); ctx.Err() != nil {
		return nil, httpapi.ErrDown
	}
	o.mu.Lock()
	if crashes && before || o.alive.Err() != nil {
		o.crash()
		o.mu.Unlock()
		return nil, httpapi.ErrDown
	}
	var answer any
	if refused {
		o.refused++
		err = o.refusal(q)
	} else {
		answer, err = o.serve(q)
	}
	response := o.respond(r, answer, err)
	if crashes {
		o.crash()
	}
	o.mu.Unlock()
	if httpapi.Sleep(ctx, back); ctx.Err() != nil || lost {
		return nil, httpapi.ErrDown
	}
	return response, nil
}

// delay draws how long a request or its answer is on its way.
func (o *operator) delay() time.Duration {
	if oneIn(o.rand, o.faults.delays) {
		return between(o.rand, 100*time.Millisecond, 9*time.Second)
	}
	return between(o.rand, 200*time.Microsecond, 3*time.Millisecond)
}

func (o *operator) respond(r *http.Request, answer any, err error) *http.Response {
	resp := httpapi.Answer(r, answer, err)
	if o.dateOff != noDate {
		resp.Header.Set("Date", time.Now().Add(o.dateOff).UTC().Format(http.TimeFormat))
	}
	return resp
}

// refusal draws an error that an API server answers a request like this with.
func (o *operator) refusal(q kube.Request) error {
	errs := []error{
		apierrors.NewTooManyRequests("the server has received too many requests and has asked us to try again later", 1),
		apierrors.NewInternalError(errors.New("etcdserver: leader changed")),
		apierrors.NewServiceUnavailable("the server is currently unable to handle the request"),
	}
	resource := q.Kind.Resource()
	switch q.Verb {
	case "create":
		errs = append(errs, apierrors.NewForbidden(resource, q.Name, errors.New("exceeded quota: snapshots, used: 10, limited: 10")))
	case "patch", "delete":
		errs = append(errs, apierrors.NewConflict(resource, q.Name, errors.New("the object has been modified")))
	}
	return pick(o.rand, errs...)
}

// serve answers a request that is no watch. A write is judged.
func (o *operator) serve(q kube.Request) (answer any, err error) {
	resource := q.Kind.Resource().Resource
	switch {
	case q.FillsCache():
		return o.list(q), nil
	case !q.IsWrite():
		o.reads[resource+"/"+q.Name] = time.Now() // without a name: of all
		return o.server.Serve(q)
	}
	a := judge.Attempt{
		Verb: q.Verb, Resource: resource, Subresource: q.Subresource, Name: q.Name, Body: q.Body,
		Started: o.started, Unsynced: slices.Contains(o.shown[:kube.Classes], 0),
	}
	if _, isLate := o.late(); !isLate {
		a.Sees, a.Read = true, func(resource, name string) bool {
			return min(time.Since(o.reads[resource+"/"+name]), time.Since(o.reads[resource+"/"])) < judge.GuardsWindow
		}
	}
	o.writing = o
	answered := o.judgeWrite(q, a)
	answer, err = o.server.Serve(q)
	answered(httpapi.CodeOf(err))
	if err == nil && (q.Kind == kube.Snapshots || q.Kind == kube.Groups) {
		switch q.Verb {
		case "create":
			o.created++
		case "delete":
			o.deleted++
		case "patch":
			o.patched++
		}
	}
	return answer, err
}

// view is what an operator is shown of the API server by its informers.
type view struct {
	// shown is how much of the log it was shown of each kind.
	shown [kube.Kinds]int
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
	from := min(o.shown[kube.Schedules], o.shown[kube.Claims], o.shown[kube.Snapshots], o.shown[kube.Groups])
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

// list answers an informer's list. It is up to date: caches are filled from etcd.
func (o *operator) list(q kube.Request) any {
	o.show(q.Kind, len(o.log))
	return q.List(o.server.List(q.Kind), int64(len(o.log)))
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
		return nil, httpapi.ErrDown
	}
	in, out := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = out.CloseWithError(httpapi.ErrDown) })
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
		httpapi.Sleep(ctx, min(frozen, 10*time.Minute)) // it may be thawed before
	}
	return httpapi.ErrDown
}
