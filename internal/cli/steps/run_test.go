// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// scripted is a machine whose state is how often it was observed.
type scripted struct {
	seen     int
	next     func(seen int) change.Step
	outcomes []Outcome
}

func (s *scripted) Observe(context.Context) (int, error) {
	if s.seen++; s.seen > 20 {
		return s.seen, errors.New("no end")
	}
	return s.seen, nil
}

func (s *scripted) Next(seen int) (change.Step, error) { return s.next(seen), nil }
func (s *scripted) Sent(_ int, _ change.Step, o Outcome) error {
	s.outcomes = append(s.outcomes, o)
	return o.Err
}

func (s *scripted) Unfinished(_ context.Context, seen int, err error) error {
	return fmt.Errorf("%w; unfinished at %d", err, seen)
}

func TestRun(t *testing.T) {
	o := clitest.Claim("data", nil)
	patch := change.Annotate(o, map[string]any{"a": "b"})
	write := change.Write("Write it", patch)
	renews := write
	renews.Renewals = []change.Change{patch}
	later := change.Wait(nil, "Wait for a pod")
	later.Unawaited = true
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "persistentvolumeclaims"}, "data", nil)
	script := func(all ...change.Step) func(int) change.Step {
		return func(seen int) change.Step { return all[min(seen, len(all))-1] }
	}
	for name, tc := range map[string]struct {
		scripts  []func(int) change.Step
		answers  []error // to patches, the last one again and again
		timeout  time.Duration
		want     string // printed
		wantErr  string
		patches  int
		outcomes []Outcome // of the first machine
	}{
		"a step after another": {
			scripts: []func(int) change.Step{script(write, change.Step{})}, want: "Write it\n", patches: 1, outcomes: []Outcome{{Some: true, All: true}},
		},
		"two of which one waits for the other": {
			scripts: []func(int) change.Step{script(change.Wait(nil, "Wait"), change.Step{}), script(write, change.Step{})},
			want:    "Wait\nWrite it\n", patches: 1, outcomes: []Outcome{{}},
		},
		"what need not be waited for": {scripts: []func(int) change.Step{script(later)}, outcomes: []Outcome{{}}},
		"a conflict, which is decided again without being said again": {
			scripts: []func(int) change.Step{script(write, write, change.Step{})}, answers: []error{conflict, nil}, want: "Write it\n", patches: 2,
			outcomes: []Outcome{{}, {Some: true, All: true}},
		},
		"a lock that is lost": {
			scripts: []func(int) change.Step{script(renews, change.Step{})}, answers: []error{conflict}, want: "Write it\n", patches: 1,
			outcomes: []Outcome{{}},
		},
		"a renewal without the change": {
			scripts: []func(int) change.Step{script(renews, change.Step{})}, answers: []error{nil, conflict}, want: "Write it\n", patches: 2,
			outcomes: []Outcome{{Some: true}},
		},
		"a lost answer": {
			scripts: []func(int) change.Step{script(write)}, answers: []error{io.EOF}, want: "Write it\n", patches: 1,
			wantErr: "Write it: EOF; unfinished at 1", outcomes: []Outcome{{Some: true, Err: io.EOF}},
		},
		"something that undoes a step": {
			scripts: []func(int) change.Step{script(write)}, want: "Write it\n", patches: 6,
			wantErr:  "something else reverts this step: Write it; unfinished at 7",
			outcomes: slices.Repeat([]Outcome{{Some: true, All: true}}, 6),
		},
		"a wait that is too long": {
			scripts: []func(int) change.Step{script(write, change.Wait(nil, "Wait")), script(change.Wait(nil, "Wait, too"))}, timeout: time.Minute,
			want: "Write it\nWait, too\nWait\n", patches: 1, wantErr: "timed out after 1m: Wait; Wait, too; unfinished at 2",
			outcomes: []Outcome{{Some: true, All: true}, {}},
		},
		"steps that are too long together": {
			scripts: []func(int) change.Step{script(write, change.Wait(nil, "Wait"))}, timeout: 90 * time.Second,
			want: "Write it\nWait\n", patches: 1, wantErr: "timed out after 1m30s: Wait; unfinished at 2",
			outcomes: []Outcome{{Some: true, All: true}, {}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			patches, clock := 0, clocktesting.NewFakePassiveClock(clitest.Start)
			c := fake.NewClientBuilder().WithScheme(term.Scheme).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) (err error) {
					if patches++; len(tc.answers) > 0 {
						err = tc.answers[min(patches, len(tc.answers))-1]
					}
					return err
				},
			}).Build()
			f := &term.Factory{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, Clock: clock, Client: c}
			var machines []Machine[int]
			var first *scripted
			for _, next := range tc.scripts {
				m := &scripted{next: func(seen int) change.Step {
					step := next(seen)
					if tc.timeout > 0 { // each decision takes a minute and a second
						clock.SetTime(clock.Now().Add(time.Minute + time.Second))
					}
					return step
				}}
				if machines = append(machines, m); first == nil {
					first = m
				}
			}
			err := Run(t.Context(), &Runner{Factory: f, Out: &out, Printed: Printed{}, Timeout: tc.timeout}, machines...)
			if got := fmt.Sprint(err); (err != nil) != (tc.wantErr != "") || err != nil && got != tc.wantErr {
				t.Errorf("ends with %v, want %q", err, tc.wantErr)
			}
			if out.String() != tc.want || patches != tc.patches {
				t.Errorf("%d patches, want %d; printed %q, want %q", patches, tc.patches, &out, tc.want)
			}
			if len(first.outcomes) != len(tc.outcomes) {
				t.Fatalf("%d steps, want %d", len(first.outcomes), len(tc.outcomes))
			}
			for i, o := range first.outcomes {
				if o.Some != tc.outcomes[i].Some || o.All != tc.outcomes[i].All || !errors.Is(o.Err, tc.outcomes[i].Err) {
					t.Errorf("outcome %d: %+v", i, o)
				}
			}
		})
	}
}

func TestRunEndsWhileItWaits(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	f := &term.Factory{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Clock: clocktesting.NewFakePassiveClock(clitest.Start)}
	m := &scripted{next: func(int) change.Step { return change.Wait(nil, "Wait") }}
	if err := Run(ctx, &Runner{Factory: f, Out: io.Discard, Printed: Printed{}}, Machine[int](m)); err == nil ||
		!strings.Contains(err.Error(), "interrupted; unfinished at 1") {
		t.Error(err)
	}
}
