// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// judge collects the history of the run and asks the oracles.
func (t *trial) judge(ctx context.Context, late error) result {
	h := &history.History{Began: t.began}
	if t.plan.IdleFor > 0 {
		w, err := t.watchEnd(ctx)
		if err != nil {
			return result{Err: err}
		}
		h.Windows = append(h.Windows, w)
	}
	t.killAll()
	if err := t.cluster.Records.CatchUp(ctx, t.cluster.Client, t.run.Namespace); err != nil {
		return result{Err: err}
	}
	h.Ended = time.Now()
	h.Changes, h.Requests = t.run.Changes(), t.gate.Requests()
	h.Windows = append(h.Windows, t.gate.Windows()...)
	for i := range h.Changes {
		h.Changes[i].Request = t.causedBy(h.Changes[i])
	}
	r := result{
		Missed: t.gate.Missed(), trace: t.gate.Trace(), end: oracle.TakeEndState(t.run.State().Objects()), history: h,
		nicknames: t.run.Nicknames(),
	}
	r.Violations = oracle.Judge(h)
	if late != nil {
		r.Violations = append(r.Violations, oracle.Violation{
			Oracle: "L1", At: h.Ended, Message: late.Error(), Change: -1, Request: -1,
		})
	}
	if t.lies {
		r.Missed = append(r.Missed, plan.Fault{Do: "lie"})
	}
	if len(r.Violations) > 0 {
		r.Err = errors.Join(t.run.Driver.Err(), unbound(h))
	}
	if r.failed() {
		r.log = t.logs()
	}
	slices.SortStableFunc(r.Violations, func(a, b oracle.Violation) int { return a.At.Compare(b.At) })
	return r
}

// unbound tells that the binder has taken a PVC for lost, which is no plan's doing:
// nothing can be said of the operator then.
func unbound(h *history.History) error {
	for _, c := range h.Changes {
		before, ok := c.Before.(*corev1.PersistentVolumeClaim)
		after, there := c.After.(*corev1.PersistentVolumeClaim)
		if ok && there && before.Status.Phase == corev1.ClaimBound && after.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("PVC %s became %s, so the run can't be judged: the machine has too much to do, "+
				"try fewer runs at once by --parallel", after.Name, after.Status.Phase)
		}
	}
	return nil
}

// brokenFor is how long a PVC must have been broken before anything can be said of
// the others.
const brokenFor = 12 * time.Second

// watchEnd looks on for a while after the end: nothing may happen, unless a PVC is
// broken, which is tried again and again.
func (t *trial) watchEnd(ctx context.Context) (history.Window, error) {
	w := history.Window{Kind: history.Idle, From: time.Now(), Process: -1}
	wait := t.plan.IdleFor
	if t.workload.Broken != "" {
		w = history.Window{Kind: history.Broken, From: t.began, Process: -1, Object: t.run.Namespace + "/" + t.workload.Broken}
		wait = max(wait, brokenFor)
	}
	select {
	case <-ctx.Done():
		return w, ctx.Err()
	case <-time.After(wait):
	}
	w.Until = time.Now()
	return w, nil
}

// causedBy finds the request that made a change.
func (t *trial) causedBy(c history.Change) int {
	o, deleted := c.After, c.After == nil
	if deleted {
		o = c.Before
	}
	var before []byte
	if c.Before != nil {
		before, _ = json.Marshal(c.Before) // without it, as if there had been nothing
	}
	return t.gate.Changed(string(o.GetUID()), fmt.Sprint(c.Revision), before, deleted, c.At)
}

func (t *trial) logs() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var text strings.Builder
	for _, p := range t.processes[max(0, len(t.processes)-3):] {
		_, _ = fmt.Fprintf(&text, "--- log of process %d\n%s\n", p.index, p.Tail(25))
	}
	return text.String()
}
