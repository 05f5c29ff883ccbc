// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

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
)

// Wait are the flags of a command that can wait for what it has started.
type Wait struct {
	Enabled bool
	Timeout time.Duration
	// since is when the timeout began; now if it is not set.
	since time.Time
}

// AddFlags adds --wait and --timeout.
func (w *Wait) AddFlags(cmd *cobra.Command, until string) {
	cmd.Flags().BoolVar(&w.Enabled, "wait", false, "Wait until "+until+".")
	cmd.Flags().DurationVar(&w.Timeout, "timeout", 10*time.Minute, "How long to wait, such as 90s; 0 waits forever.")
}

// idleAfter is how long a wait may come no further before it says what it waits for.
const idleAfter = 15 * time.Second

// rewatchAfter keeps an API server that ends every watch at once from being asked
// again and again.
const rewatchAfter = time.Second

// lastWords is how long a wait may take after its timeout to say what it has waited for.
const lastWords = 500 * time.Millisecond

// follower is called with what a wait sees.
type follower struct {
	// see is called for every object that exists, and for every change. It returns
	// whether the wait has come any further.
	see func(ctx context.Context, o client.Object, deleted bool) bool
	// listed, if it is set, is called with all that exists when a watch begins: what is
	// missing was deleted while nothing watched.
	listed func(existing sets.Set[types.UID])
	// left returns the PVCs that the wait still waits for.
	left func() []string
	// explain is called when the wait has come no further for a while, again and again,
	// and at the timeout. It says why.
	explain func(ctx context.Context) error
	// missing says, before the names of PVCs, what the wait waits for.
	missing string
}

// waitingFor prints which PVCs a wait waits for.
func waitingFor(f *term.Factory, claims []string) {
	names := strings.Join(claims[:min(len(claims), term.Listed)], ", ")
	if more := len(claims) - term.Listed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	term.Say(f.ErrOut, fmt.Sprintf("Waiting for %s: %s", term.Plural(len(claims), "PVC"), names))
}

// told are the lines that a wait has printed.
type told map[string]bool

// once prints a line, unless it was printed before.
func (t told) once(w io.Writer, line string) {
	if !t[line] {
		t[line] = true
		term.Say(w, line)
	}
}

// poll is how often a command reads what it waits for, if it is more than one object.
const poll = time.Second

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(poll):
		return nil
	}
}

// explainWarnings prints the warnings about an object that is waited for; none if the user may not read events.
func explainWarnings(ctx context.Context, f *term.Factory, o client.Object, told told) error {
	events := &corev1.EventList{}
	// Events about objects in no namespace are in the namespace default.
	of := client.InNamespace(cmp.Or(o.GetNamespace(), metav1.NamespaceDefault))
	err := f.List(ctx, events, of, client.MatchingFields{"involvedObject.uid": string(o.GetUID())})
	if apierrors.IsForbidden(err) {
		return nil
	}
	for _, e := range events.Items {
		if e.Type == corev1.EventTypeWarning {
			told.once(f.ErrOut, fmt.Sprintf("  %s: %s: %s", o.GetName(), e.Reason, e.Message))
		}
	}
	return err
}

// Follow calls a follower with the objects of a list until nothing is left.
func (w *Wait) Follow(ctx context.Context, f *term.Factory, list client.ObjectList, to follower, opts ...client.ListOption) error {
	bounded, cancel := context.WithCancel(ctx)
	if w.Timeout > 0 {
		left := w.Timeout
		if !w.since.IsZero() {
			left -= f.Clock.Since(w.since)
		}
		bounded, cancel = context.WithTimeout(ctx, left)
	}
	defer cancel()
	further := f.Clock.Now()
	see := to.see
	to.see = func(ctx context.Context, o client.Object, deleted bool) bool {
		came := see(ctx, o, deleted)
		if came {
			further = f.Clock.Now()
		}
		return came
	}
	explain := func(ctx context.Context) error {
		waitingFor(f, to.left())
		return to.explain(ctx)
	}
	err := wait.PollUntilContextCancel(bounded, rewatchAfter, true, func(ctx context.Context) (bool, error) {
		err := followOnce(ctx, f.Client, list.DeepCopyObject().(client.ObjectList), to, opts)
		if err == nil && len(to.left()) > 0 && f.Clock.Since(further) >= idleAfter {
			further = f.Clock.Now()
			err = explain(ctx)
		}
		return len(to.left()) == 0, err
	})
	switch {
	case bounded.Err() == nil:
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("wait: %w", context.Cause(ctx))
	}
	// An API server that hangs must not hold who waits for longer.
	last, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	if err := explain(last); err != nil && last.Err() == nil {
		return err
	}
	return fmt.Errorf("%w after %s: %s %s", term.ErrTimeout, w.Timeout, to.missing, strings.Join(to.left(), ", "))
}

// followOnce lists and watches until nothing is left, or until the API server ends the
// watch, so that the caller can say what it waits for.
func followOnce(ctx context.Context, c client.WithWatch, list client.ObjectList, to follower, opts []client.ListOption) error {
	if err := c.List(ctx, list, opts...); err != nil {
		return err
	}
	existing := sets.New[types.UID]()
	for _, o := range items(list) {
		existing.Insert(o.GetUID())
		to.see(ctx, o, false)
	}
	if to.listed != nil {
		to.listed(existing)
	}
	if len(to.left()) == 0 {
		return nil
	}
	from := &client.ListOptions{Raw: &metav1.ListOptions{
		ResourceVersion: list.GetResourceVersion(), TimeoutSeconds: ptr.To(int64(idleAfter.Seconds())),
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
		to.see(ctx, o, e.Type == watch.Deleted)
		return len(to.left()) == 0, nil
	})
	if errors.Is(err, toolswatch.ErrWatchClosed) || wait.Interrupted(err) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil
	}
	return err
}
