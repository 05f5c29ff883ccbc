// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/api"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// faults says how often requests fail for now: one in n, 0 for never.
type faults struct {
	// crashes kill the operator before or after a write is committed, refusals are answers without an effect, lost answers belong
	// to writes that were committed, and delays hold a request up for seconds.
	crashes, refusals, lost, delays int
	// staleLists: what an operator lists first may be some changes behind.
	staleLists bool
}

// RoundTrip implements http.RoundTripper: the network of one operator. What the API server has received before the operator ends, it does.
func (o *operator) RoundTrip(r *http.Request) (*http.Response, error) {
	q, err := kube.ParseRequest(r)
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

	if api.Sleep(ctx, there); ctx.Err() != nil {
		return nil, api.ErrDown
	}
	o.mu.Lock()
	if crashes && before || o.alive.Err() != nil {
		o.crash()
		o.mu.Unlock()
		return nil, api.ErrDown
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
	if api.Sleep(ctx, back); ctx.Err() != nil || lost {
		return nil, api.ErrDown
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
	resp := api.Answer(r, answer, err)
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
		Verb: q.Verb, Resource: resource, Subresource: q.Subresource, Namespace: kube.Namespace, Name: q.Name, Body: q.Body,
		Started: o.started, Unsynced: slices.Contains(o.shown[:kube.Classes], 0),
	}
	if _, isLate := o.late(); !isLate {
		a.Sees, a.Read = true, func(resource, name string) bool {
			return min(time.Since(o.reads[resource+"/"+name]), time.Since(o.reads[resource+"/"])) < judge.GuardsWindow
		}
	}
	o.writing = o
	answered := o.judge.Write(context.Background(), a)
	answer, err = o.server.Serve(q)
	answered(api.CodeOf(err))
	if err == nil && q.Kind == kube.Snapshots {
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
