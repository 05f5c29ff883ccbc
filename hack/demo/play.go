// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/check"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/show"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/stage"
)

// errCheck ends the play when a check did not hold; the check has been shown.
var errCheck = errors.New("a check failed")

// patience is how long a step may take that takes seconds on an idle machine.
const patience = time.Minute

type play struct {
	set     *stage.Stage
	screen  *show.Screen
	seen    *record.Recorder
	report  *report
	terms   check.Terms
	started time.Time
}

// play runs the acts one after another. What it watches with ends with it:
// before the cluster goes.
func (p *play) play(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := p.setUp(ctx, cancel); err != nil {
		return err
	}
	for _, act := range []func(context.Context) error{p.claims, p.schedule, p.lose, p.look, p.collect} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	if p.set.Keep {
		return p.again(ctx)
	}
	return nil
}

// until waits for a condition, and gives it as it was last. If it has to wait,
// it shows the table.
func (p *play) until(ctx context.Context, limit time.Duration, holds func(record.World) check.Result) (check.Result, error) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	frame := time.NewTicker(p.screen.FrameEvery())
	defer frame.Stop()
	defer p.screen.Settle()
	drawn := false
	for {
		world, changed := p.seen.Look()
		result := holds(world)
		if result.OK {
			if drawn {
				p.draw()
			}
			return result, nil
		}
		select {
		case <-changed:
		case <-frame.C:
			drawn = true
			p.draw()
		case <-deadline.C:
			result.Seen += fmt.Sprintf(" (waited %s)", show.Elapsed(limit))
			return result, nil
		case <-ctx.Done():
			return result, context.Cause(ctx)
		}
	}
}

// draw shows the table, once there is a schedule for it to speak of.
func (p *play) draw() {
	if p.terms.Interval > 0 {
		world, _ := p.seen.Look()
		p.screen.Frame(show.Table(world, p.terms, p.screen.Paint))
	}
}

// await is until and verify: a check that is to hold before the limit.
func (p *play) await(ctx context.Context, limit time.Duration, holds func(record.World) check.Result) error {
	result, err := p.until(ctx, limit, holds)
	if err != nil {
		return err
	}
	return p.verify(result)
}

// verify shows results and keeps them for the report.
func (p *play) verify(results ...check.Result) error {
	var failed error
	for _, r := range results {
		p.report.Checks = append(p.report.Checks, r)
		p.screen.Check(r)
		if !r.OK {
			failed = errCheck
		}
	}
	return failed
}

// world is what is there now.
func (p *play) world() record.World {
	w, _ := p.seen.Look()
	return w
}

// kubectl runs a command and shows it as a person would type it.
func (p *play) kubectl(ctx context.Context, args ...string) error {
	p.screen.Command(append([]string{"kubectl"}, args...)...)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("kubectl %s took too long", strings.Join(args, " ")))
	defer cancel()
	out, err := p.set.Kubectl(ctx, args...)
	if err != nil {
		return err
	}
	p.screen.Output(out)
	return nil
}
