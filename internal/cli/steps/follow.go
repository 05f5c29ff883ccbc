// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolswatch "k8s.io/client-go/tools/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// Wait are the flags of a command that can wait for what it has started.
type Wait struct {
	Enabled bool
	timeout time.Duration
}

// AddFlags adds --wait and --timeout.
func (w *Wait) AddFlags(cmd *cobra.Command, until string) {
	cmd.Flags().BoolVar(&w.Enabled, "wait", false, "Wait until "+until+".")
	term.AddTimeout(cmd.Flags(), &w.timeout, 10*time.Minute)
}

// Connected is the RunE of a command that --timeout ends, its reads included.
func (w *Wait) Connected(f *term.Factory, run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		before := cmd.Context()
		if w.timeout > 0 {
			late := fmt.Errorf("%w after %s", term.ErrTimeout, term.Span(w.timeout))
			ctx, cancel := context.WithTimeoutCause(before, w.timeout, late)
			defer cancel()
			cmd.SetContext(ctx)
			defer cmd.SetContext(before)
		}
		err := f.Connected(run)(cmd, args)
		if late := context.Cause(cmd.Context()); errors.Is(late, term.ErrTimeout) && term.ExitCode(err) == term.ExitError {
			err = fmt.Errorf("%w: %v", late, err) //nolint:errorlint // the exit code of a request that was cut off does not count
		}
		return err
	}
}

// pause is how long a wait may make no progress before it says for what it waits: soon at first, so that nobody thinks that it
// stands still. From the second time on it also says why.
func pause(f *term.Factory, said int) time.Duration {
	switch {
	case said == 0:
		return term.ProgressAfter
	case said == 1, term.IsTerminal(f.ErrOut):
		return 15*time.Second - term.ProgressAfter
	}
	return term.ProgressEvery
}

// rewatchAfter keeps an API server that ends every watch at once from being asked
// again and again.
const rewatchAfter = time.Second

// lastWords is how long a wait may take after its timeout to say what it has waited for.
const lastWords = 500 * time.Millisecond

// Follower is called with what a wait sees.
type Follower struct {
	// See is called for every object that exists, and for every change. It returns
	// whether the wait has made progress.
	See func(ctx context.Context, o client.Object, deleted bool) bool
	// Listed, if it is set, is called with all that exists when a watch begins: what is
	// missing was deleted while nothing watched.
	Listed func(existing sets.Set[types.UID])
	// Left returns the PVCs that the wait still waits for.
	Left func() []string
	// Explain is called when the wait has made no progress for a while, again and again,
	// and at the timeout. It says why.
	Explain func(ctx context.Context) error
	// Missing says, before the names of PVCs, what the wait waits for.
	Missing string
}

// waitingFor prints for which PVCs of how many a wait waits.
func waitingFor(f *term.Factory, claims []string, all int) {
	names := strings.Join(claims[:min(len(claims), term.Listed)], ", ")
	if more := len(claims) - term.Listed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	term.Say(f.ErrOut, fmt.Sprintf("Waiting for %d of %s: %s", len(claims), term.Plural(all, "PVC"), names))
}

// Printed are the lines that a wait has printed.
type Printed map[string]bool

// Once prints a line, unless it was printed before.
func (t Printed) Once(w io.Writer, line string) {
	if !t[line] {
		t[line] = true
		term.Say(w, line)
	}
}

// Poll is how often a command reads what it waits for, if it is more than one object.
const Poll = time.Second

// Pause waits until what is waited for is read again.
func Pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(Poll):
		return nil
	}
}

// ExplainWarnings prints the warnings about an object that is waited for; none if the user may not read events.
func ExplainWarnings(ctx context.Context, f *term.Factory, o client.Object, printed Printed) error {
	events := &corev1.EventList{}
	// Events about objects in no namespace are in the namespace default.
	of := client.InNamespace(cmp.Or(o.GetNamespace(), metav1.NamespaceDefault))
	err := f.List(ctx, events, of, client.MatchingFields{"involvedObject.uid": string(o.GetUID())})
	if apierrors.IsForbidden(err) {
		return nil
	}
	for _, e := range events.Items {
		if e.Type == corev1.EventTypeWarning {
			printed.Once(f.ErrOut, fmt.Sprintf("  %s: %s: %s", o.GetName(), e.Reason, e.Message))
		}
	}
	return err
}

// Follow calls a follower with the objects of a list until nothing is left, or until the context of the command ends.
func Follow(ctx context.Context, f *term.Factory, list client.ObjectList, to Follower, opts ...client.ListOption) error {
	further, said, all := f.Clock.Now(), 0, len(to.Left())
	see := to.See
	to.See = func(ctx context.Context, o client.Object, deleted bool) bool {
		came := see(ctx, o, deleted)
		if came {
			further = f.Clock.Now()
		}
		return came
	}
	explain := func(ctx context.Context) error {
		waitingFor(f, to.Left(), all)
		if said++; said == 1 {
			return nil
		}
		return to.Explain(ctx)
	}
	err := wait.PollUntilContextCancel(ctx, rewatchAfter, true, func(ctx context.Context) (bool, error) {
		idle := pause(f, said)
		err := followOnce(ctx, f.Client, list.DeepCopyObject().(client.ObjectList), to, idle, opts)
		if err == nil && len(to.Left()) > 0 && f.Clock.Since(further) >= idle {
			further = f.Clock.Now()
			err = explain(ctx)
		}
		return len(to.Left()) == 0, err
	})
	late := context.Cause(ctx)
	switch {
	case late == nil:
		return err
	case !errors.Is(late, term.ErrTimeout):
		return fmt.Errorf("wait: %w", late)
	}
	// An API server that hangs must not hold who waits for longer.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	said++ // and why
	if err := explain(last); err != nil && last.Err() == nil {
		return err
	}
	return fmt.Errorf("%w: %s %s", late, to.Missing, strings.Join(to.Left(), ", "))
}

// followOnce lists and watches until nothing is left, or until the API server ends the
// watch, so that the caller can say what it waits for.
func followOnce(
	ctx context.Context, c client.WithWatch, list client.ObjectList, to Follower, idle time.Duration, opts []client.ListOption,
) error {
	if err := c.List(ctx, list, opts...); err != nil {
		return err
	}
	existing := sets.New[types.UID]()
	for _, o := range view.Items(list) {
		existing.Insert(o.GetUID())
		to.See(ctx, o, false)
	}
	if to.Listed != nil {
		to.Listed(existing)
	}
	if len(to.Left()) == 0 {
		return nil
	}
	from := &client.ListOptions{Raw: &metav1.ListOptions{
		ResourceVersion: list.GetResourceVersion(), TimeoutSeconds: ptr.To(int64(idle.Seconds())),
	}}
	events, err := c.Watch(ctx, list, append([]client.ListOption{from}, opts...)...)
	if err != nil {
		return err
	}
	_, err = toolswatch.UntilWithoutRetry(ctx, events, func(e watch.Event) (bool, error) {
		o, ok := e.Object.(client.Object)
		if !ok {
			return false, apierrors.FromObject(e.Object)
		}
		to.See(ctx, o, e.Type == watch.Deleted)
		return len(to.Left()) == 0, nil
	})
	if errors.Is(err, toolswatch.ErrWatchClosed) || wait.Interrupted(err) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil
	}
	return err
}
