// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// judge collects the history of the run and applies the oracles.
func (r *planRun) judge(ctx context.Context, late error) result {
	h := &history.History{Began: r.began}
	if r.plan.IdleFor > 0 {
		w, err := r.observeEnd(ctx)
		if err != nil {
			return result{Err: err}
		}
		h.Windows = append(h.Windows, w)
	}
	r.killAll()
	if err := r.cluster.Records.CatchUp(ctx, r.cluster.Client, r.run.Namespace); err != nil {
		return result{Err: err}
	}
	h.Ended = time.Now()
	h.Changes, h.Requests = r.run.Changes(), r.proxy.Requests()
	h.Windows = append(h.Windows, r.proxy.Windows()...)
	for i := range h.Changes {
		h.Changes[i].Request = r.requestOf(h.Changes[i])
	}
	res := result{
		Missed: r.proxy.Missed(), trace: r.proxy.Trace(), end: oracle.TakeEndState(r.run.State().Objects()), history: h,
		nicknames: r.run.Nicknames(),
	}
	res.Violations = oracle.Judge(h)
	if r.plan.ShowsEverything() {
		res.Violations = append(res.Violations, oracle.Counts(h)...)
		if r.workload.MaxInFlight > 0 {
			res.Violations = append(res.Violations, oracle.InFlight(h, r.workload.MaxInFlight)...)
		}
	}
	if late != nil {
		res.Violations = append(res.Violations, oracle.Violation{
			Oracle: "L1", At: h.Ended, Message: late.Error(), Change: -1, Request: -1,
		})
	}
	if r.dateWrong { // no live read received the wrong Date
		res.Missed = append(res.Missed, plan.Fault{Action: "wrong-date"})
	}
	if len(res.Violations) > 0 {
		res.Err = errors.Join(r.run.Driver.Err(), lostClaim(h))
	}
	if res.failed() {
		res.log = r.logs()
	}
	slices.SortStableFunc(res.Violations, func(a, b oracle.Violation) int { return a.At.Compare(b.At) })
	return res
}

// lostClaim returns an error if the volume binder changed the phase of a PVC. No plan
// asks for that, so the operator cannot be judged.
func lostClaim(h *history.History) error {
	for _, c := range h.Changes {
		before, existed := c.Before.(*corev1.PersistentVolumeClaim)
		after, exists := c.After.(*corev1.PersistentVolumeClaim)
		if existed && exists && before.Status.Phase == corev1.ClaimBound && after.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("PVC %s became %s, so the run cannot be judged: the machine is overloaded, lower --parallel",
				after.Name, after.Status.Phase)
		}
	}
	return nil
}

// brokenTime is how long a PVC must have failed before L3 is judged.
const brokenTime = 12 * time.Second

// observeEnd waits after the end state. Nothing may happen meanwhile, unless a PVC is
// broken, or a neighbor's: the operator retries it forever.
func (r *planRun) observeEnd(ctx context.Context) (history.Window, error) {
	w := history.Window{Kind: history.Idle, From: time.Now(), Process: -1}
	wait := r.plan.IdleFor
	broken := ""
	if r.workload.Neighbor != nil {
		broken = r.neighbor() + "/*"
	}
	if r.workload.Broken != "" {
		broken = r.run.Namespace + "/" + r.workload.Broken
	}
	if broken != "" {
		w = history.Window{Kind: history.Broken, From: r.began, Process: -1, Object: broken}
		wait = max(wait, brokenTime)
	}
	select {
	case <-ctx.Done():
		return w, ctx.Err()
	case <-time.After(wait):
	}
	w.Until = time.Now()
	return w, nil
}

// requestOf returns the index of the request that made a change; -1 if it was not
// the operator's.
func (r *planRun) requestOf(c history.Change) int {
	o, deleted := c.After, c.After == nil
	if deleted {
		o = c.Before
	}
	var before []byte
	if c.Before != nil {
		before, _ = json.Marshal(c.Before) // on an error, no patch counts as one without effect
	}
	return r.proxy.RequestOf(string(o.GetUID()), fmt.Sprint(c.Revision), before, deleted, c.At)
}
