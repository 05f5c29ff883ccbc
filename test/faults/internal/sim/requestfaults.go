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

// requestFaults says how often requests fail for now: one in n, 0 for never.
type requestFaults struct {
	// crashes kill the operator before or after a write is committed.
	crashes int
	// refusals are error answers without effect.
	refusals int
	// lost answers belong to writes that were committed.
	lost int
	// staleLists: initial lists may come from an API server that lags.
	staleLists bool
	// delays hold a request up for seconds.
	delays int
}

// outcome is what happens to one request.
type outcome int

const (
	answered outcome = iota
	refused
	answerLost
	crashedBefore
	crashedAfter
)

func (sim *simulation) drawOutcome(write bool) outcome {
	f := &sim.requestFaults
	drawn := func(n int) bool { return n > 0 && oneIn(sim.timingRand, n) }
	switch {
	case write && drawn(f.crashes):
		return pick(sim.timingRand, crashedBefore, crashedAfter)
	case drawn(f.refusals):
		return refused
	case write && drawn(f.lost):
		return answerLost
	}
	return answered
}

// delay draws how long a request or its answer travels.
func (sim *simulation) delay() time.Duration {
	if sim.requestFaults.delays > 0 && oneIn(sim.timingRand, sim.requestFaults.delays) {
		return between(sim.timingRand, 100*time.Millisecond, 9*time.Second)
	}
	return between(sim.timingRand, 200*time.Microsecond, 3*time.Millisecond)
}

var (
	errDead       = errors.New("the process has ended")
	errAnswerLost = errors.New("read tcp 127.0.0.1:40000->127.0.0.1:6443: i/o timeout")
)

// refusal draws an error that an API server returns for a request like this.
func (sim *simulation) refusal(verb string, resource schema.GroupResource, name string) error {
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
	return pick(sim.timingRand, errs...)
}
