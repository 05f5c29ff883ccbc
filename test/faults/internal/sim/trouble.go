// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// trouble is what may happen to requests for now: once in so many, 0 for never.
type trouble struct {
	// crashes end the operator before a write gets through or after it did.
	crashes int
	// refusals are answers that the server never gave a thought to.
	refusals int
	// losses are answers that are lost after a write got through.
	losses int
	// stale: an API server that is behind may answer the first lists.
	stale bool
	// delays hold a request up for seconds.
	delays int
}

// fate is what becomes of one request.
type fate int

const (
	answered fate = iota
	refused
	lost
	crashedBefore
	crashedAfter
)

func (w *world) fate(write bool) fate {
	t := &w.trouble
	drawn := func(n int) bool { return n > 0 && oneIn(w.luck, n) }
	switch {
	case write && drawn(t.crashes):
		return pick(w.luck, crashedBefore, crashedAfter)
	case drawn(t.refusals):
		return refused
	case write && drawn(t.losses):
		return lost
	}
	return answered
}

// delay is how long a request takes on its way, and an answer on its way back.
func (w *world) delay() time.Duration {
	if w.trouble.delays > 0 && oneIn(w.luck, w.trouble.delays) {
		return between(w.luck, 100*time.Millisecond, 9*time.Second)
	}
	return between(w.luck, 200*time.Microsecond, 3*time.Millisecond)
}

var errDead = errors.New("the process has ended")

var errLost = errors.New("read tcp 127.0.0.1:40000->127.0.0.1:6443: i/o timeout")

// refusal draws one of the answers that an API server gives when it can't help.
func (w *world) refusal(verb string, resource schema.GroupResource, name string) error {
	errs := []error{
		apierrors.NewTooManyRequests("the server has received too many requests and has asked us to try again later", 1),
		apierrors.NewInternalError(errors.New("etcdserver: leader changed")),
		apierrors.NewServiceUnavailable("the server is currently unable to handle the request"),
	}
	switch verb {
	case "create":
		errs = append(errs, apierrors.NewForbidden(resource, name, errors.New("exceeded quota: snapshots, used: 10, limited: 10")))
	case "patch", "delete":
		errs = append(errs, apierrors.NewConflict(resource, name, fmt.Errorf("the object has been modified")))
	}
	return pick(w.luck, errs...)
}
