// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// call is one request of an operator's.
type call struct {
	verb     string
	resource schema.GroupResource
	// sub is the subresource, empty for none.
	sub   string
	key   client.ObjectKey
	write bool
	// note fills in more of what is written down.
	note func(*history.Request)
	// do is what the server does; it is given the request's number.
	do func(request int) error
}

// mostRequests is how many a run may make: ten times what the fullest lives do.
// An operator that makes more is at war with itself.
const mostRequests = 500_000

// send takes a request to the server and the answer back, each of which takes
// time in which the world goes on, and writes down what became of it.
func (o *operator) send(c call) error {
	w := o.world
	if !o.alive {
		return errDead
	}
	number := len(w.history.Requests)
	if number == mostRequests {
		w.stop()
		return errDead
	}
	r := history.Request{
		At: w.now, Clock: operatorClock{o}.Now(), Process: o.number,
		Verb: c.verb, Group: c.resource.Group, Resource: c.resource.Resource,
		Namespace: c.key.Namespace, Name: c.key.Name,
	}
	if c.sub != "" {
		r.Resource += "/" + c.sub
	}
	if c.note != nil {
		c.note(&r)
	}
	w.history.Requests = append(w.history.Requests, r)
	w.behind = append(w.behind, o.behind())

	became := w.fate(c.write)
	w.run(w.now.Add(w.delay()))
	if !o.alive {
		return errDead
	}
	written := func() *history.Request { return &w.history.Requests[number] }
	switch became {
	case crashedBefore:
		w.crash(o)
		return errDead
	case refused:
		err := w.refusal(c.verb, c.resource, c.key.Name)
		written().Seen, written().Date = codeOf(err), w.date()
		return err
	}
	err := c.do(number)
	written().Reached, written().Code = true, codeOf(err)
	if became == crashedAfter {
		w.crash(o)
		return errDead
	}
	date := w.date()
	w.run(w.now.Add(w.delay()))
	switch {
	case !o.alive:
		return errDead
	case became == lost:
		return errLost
	}
	written().Seen, written().Date = codeOf(err), date
	return err
}

func codeOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return int(status.Status().Code)
	}
	return 0
}
