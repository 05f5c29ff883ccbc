// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Machine is something that is done in steps. Each step is decided from what the cluster holds then, so whoever runs the command again
// after an interruption goes on where it stopped.
type Machine[S any] interface {
	// Observe reads all that the next step depends on.
	Observe(ctx context.Context) (S, error)
	// Next decides the next step.
	Next(state S) (change.Step, error)
	// Sent is called after a step, and returns the error that ends the run; nil if it goes on.
	Sent(state S, step change.Step, outcome Outcome) error
	// Unfinished adds to an error how to go on, or back.
	Unfinished(ctx context.Context, state S, err error) error
}

// Outcome is what became of the changes of a step.
type Outcome struct {
	// Some is true if one of them was carried out, or may have been.
	Some bool
	// All is true if there were any, and none was out of date.
	All bool
	// Existed is true if what one of them creates existed already.
	Existed bool
	Err     error
}

// Runner is how a command takes steps.
type Runner struct {
	Factory *term.Factory
	// Out is where it says what it writes. What it waits for it says where errors are printed, once.
	Out     io.Writer
	Printed Printed
	// Of is how many numbered steps there are; zero if they have no numbers.
	Of int
	// Timeout is how long all steps may take; zero: forever. The context of the command may end before.
	Timeout time.Duration
}

// sameStep is how often a step may be repeated before it is given up: something undoes it.
const sameStep = 5

// progress is how far a machine has come.
type progress[S any] struct {
	of   Machine[S]
	done bool
	// last is the text of the present step, said the last one that was printed.
	last, said string
	repeated   int
}

// Run takes a step of each machine in turn, until all are done. It waits only when none has anything to write.
func Run[S any](ctx context.Context, r *Runner, machines ...Machine[S]) error {
	all := make([]*progress[S], len(machines))
	for i, m := range machines {
		all[i] = &progress[S]{of: m}
	}
	began := r.Factory.Clock.Now()
	said := began
	for {
		acted, waits, failed, err := round(ctx, r, all)
		switch {
		case err != nil:
			return err
		case acted:
			said = r.Factory.Clock.Now()
			continue
		case len(waits) == 0:
			return nil
		case r.Timeout > 0 && r.Factory.Clock.Since(began) > r.Timeout:
			return failed(fmt.Errorf("%w after %s: %s", term.ErrTimeout, term.Span(r.Timeout), strings.Join(waits, "; ")))
		}
		if r.Factory.Clock.Since(said) >= term.ProgressEvery {
			said = r.Factory.Clock.Now()
			term.Say(r.Factory.ErrOut, "Still waiting: "+strings.Join(waits, "; "))
		}
		if err := Pause(ctx); err != nil {
			if errors.Is(err, term.ErrTimeout) {
				err = fmt.Errorf("%w: %s", err, strings.Join(waits, "; "))
			}
			return failed(err)
		}
	}
}

// round takes a step of each machine that is not done. It returns whether one has written, what others wait for, and how the first of
// these fails.
func round[S any](ctx context.Context, r *Runner, all []*progress[S]) (acted bool, waits []string, failed func(error) error, err error) {
	for _, p := range all {
		if p.done {
			continue
		}
		state, err := p.of.Observe(ctx)
		var step change.Step
		if err == nil {
			step, err = p.take(ctx, r, state)
		}
		switch {
		case err != nil:
			return false, nil, nil, p.of.Unfinished(ctx, state, err)
		case len(step.Changes) > 0:
			acted = true
		case !p.done && !step.Unawaited:
			if waits = append(waits, step.Text); len(waits) == 1 {
				failed = func(err error) error { return p.of.Unfinished(ctx, state, err) }
			}
		}
	}
	return acted, waits, failed, nil
}

// take takes the next step, or says what is waited for.
func (p *progress[S]) take(ctx context.Context, r *Runner, state S) (change.Step, error) {
	step, err := p.of.Next(state)
	switch {
	case err != nil:
		return step, err
	case step.Text == "":
		p.done = true
		return step, nil
	case step.Text != p.last:
		p.repeated, p.last = 0, step.Text
	case len(step.Changes) > 0:
		p.repeated++
	}
	if p.repeated > sameStep {
		return step, fmt.Errorf("something else reverts this step: %s", step.Text)
	}
	text := step.Text
	if r.Of > 0 {
		text = fmt.Sprintf("[%d/%d] %s", step.Number, r.Of, text)
	}
	switch {
	case step.Unawaited:
	case len(step.Changes) == 0:
		r.Printed.Once(r.Factory.ErrOut, text)
	case text != p.said: // after a conflict it is decided again
		p.said = text
		term.Say(r.Out, text)
	}
	if err := p.of.Sent(state, step, r.Send(ctx, step)); err != nil {
		return step, err
	}
	if step.For != nil && !step.Unawaited {
		err = ExplainWarnings(ctx, r.Factory, step.For, r.Printed)
	}
	return step, err
}

// Send sends the changes of a step. What has changed since it was read is decided again.
func (r *Runner) Send(ctx context.Context, step change.Step) (o Outcome) {
	all := slices.Concat(step.Renewals, step.Changes)
	o.All = len(all) > 0
	for i, one := range all {
		switch err := Send(ctx, r.Factory, one); {
		case apierrors.IsConflict(err), one.Patch != nil && apierrors.IsNotFound(err):
			if o.All = false; i < len(step.Renewals) {
				return o
			}
		case err != nil && !apierrors.IsAlreadyExists(err):
			o.Some, o.All, o.Err = o.Some || !refused(err), false, fmt.Errorf("%s: %w", step.Text, err)
			return o
		default:
			o.Some, o.Existed = true, o.Existed || err != nil
		}
	}
	return o
}

// refused returns whether the API server has certainly not carried out a request. With any other error, such as a lost answer, it may
// have.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500
}
