// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/cli/rollback/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// goesTo finds out whether an unfinished rollback of a PVC goes back to what this command asks for. Whoever may edit the workload writes
// its goals, until the record on the volume has them.
func (r *rollbackRun) goesTo(c *core.Claim, read *rollbackObjects, goal core.Goal, s *core.State) error {
	recorded := s.Recorded(read.lock.ID, c.Name)
	switch {
	case r.snapshot != "" && slices.Contains(r.claims, c.Name):
		target, err := r.choose(c, read.snapshots, s)
		switch {
		case recorded && r.snapshot == goal.Snapshot: // which need not exist any more
		case err != nil:
			return err
		case target.UID != goal.SnapshotUID:
			only := &core.State{Workload: s.Workload, Claims: []*core.Claim{c}}
			return fmt.Errorf("PersistentVolumeClaim %s: its rollback %s to %s is unfinished: undo it with --undo, or finish it: %s",
				c.Name, read.lock.ID, goal.Snapshot, r.command(only, "--snapshot "+goal.Snapshot))
		}
	case !recorded && !r.choseThen(c, read.lock, goal, s):
		r.unlike = append(r.unlike, fmt.Sprintf("the unfinished rollback %s goes back to VolumeSnapshot %s of PersistentVolumeClaim %s, "+
			"which this command would not have chosen when that began", read.lock.ID, goal.Snapshot, c.Name))
	}
	return nil
}

// choseThen returns whether the point in time chooses the goal of an unfinished rollback, an age counted from when that began. It
// says so itself: further back than its first holds last, that is not believed, or it would choose any older snapshot.
func (r *rollbackRun) choseThen(c *core.Claim, lock *core.Lock, goal core.Goal, s *core.State) bool {
	if r.time == "" || !lock.Fresh(r.began) {
		return false
	}
	asOf := r.asOf
	if _, err := schedule.ParseDuration(r.time); err == nil {
		asOf = asOf.Add(lock.Began.Sub(r.began))
	}
	target := recovery.Newest(c.Snapshots, asOf, s.Now)
	return target != nil && target.UID == goal.SnapshotUID
}

// agreed warns of goals that this command would not have chosen. Only an answer to the question agrees to them, and not --yes.
func (r *rollbackRun) agreed() error {
	for _, line := range r.unlike {
		r.f.Warn("%s", line)
	}
	if !r.yes || r.f.DryRun.On() || len(r.unlike) == 0 {
		return nil
	}
	return errors.New(strings.Join(r.unlike, "; ") + ": run the command without --yes to agree to it, or undo it with --undo")
}

// asked asks, and reads again afterwards: an answer may take hours, in which others act. What was answered is only that plan.
func (r *rollbackRun) asked(ctx context.Context, state *core.State) (*core.State, error) {
	if err := r.f.Ask(ctx, "Continue?"); err != nil {
		return nil, err
	}
	return r.stillPlanned(ctx, state)
}

// stillPlanned returns what there is now, or an error if the plan that was answered is not the one any more.
func (r *rollbackRun) stillPlanned(ctx context.Context, state *core.State) (*core.State, error) {
	now, err := r.observe(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := core.Next(now); err != nil {
		return nil, err
	}
	if !state.Same(now) {
		return nil, errors.New("nothing was done: another rollback has begun or ended meanwhile; run the command again for the present plan")
	}
	return now, nil
}
