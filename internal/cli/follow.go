// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Wait are the flags of a command that can wait for what it has started.
type Wait struct {
	Enabled bool
	Timeout time.Duration
}

// AddFlags adds --wait and --timeout.
func (w *Wait) AddFlags(cmd *cobra.Command, until string) {
	cmd.Flags().BoolVar(&w.Enabled, "wait", false, "Wait until "+until+".")
	cmd.Flags().DurationVar(&w.Timeout, "timeout", 10*time.Minute, "How long to wait, such as 90s; 0 waits forever.")
}

// errTimeout ends a wait that took too long.
var errTimeout = errors.New("timed out")

// idleAfter is how long a wait may come no further before it says what it waits for.
const idleAfter = 15 * time.Second

// rewatchAfter keeps an API server that ends every watch at once from being asked
// again and again.
const rewatchAfter = time.Second

// follower is called with what a wait sees.
type follower struct {
	// see is called for every object that exists, and for every change. It returns
	// whether the wait has come any further.
	see func(o client.Object, deleted bool) bool
	// listed, if it is set, is called with all that exists when a watch begins: what is
	// missing was deleted while nothing watched.
	listed func(existing sets.Set[types.UID])
	// done is called after each of the others.
	done func() (bool, error)
	// idle is called when the wait has come no further for a while, again and again.
	idle func(ctx context.Context) error
}

// waitingFor prints which PVCs a wait waits for.
func (f *Factory) waitingFor(claims []string) {
	names := strings.Join(claims[:min(len(claims), listed)], ", ")
	if more := len(claims) - listed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	say(f.ErrOut, fmt.Sprintf("Waiting for %s: %s", plural(len(claims), "PVC"), names))
}

// told are the lines that a wait has printed.
type told map[string]bool

// once prints a line, unless it was printed before.
func (t told) once(w io.Writer, line string) {
	if !t[line] {
		t[line] = true
		say(w, line)
	}
}

// Follow calls a follower with the objects of a list until it is done.
func (w *Wait) Follow(ctx context.Context, c client.WithWatch, list client.ObjectList, to follower, opts ...client.ListOption) error {
	if w.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, w.Timeout, errTimeout)
		defer cancel()
	}
	for {
		done, err := followOnce(ctx, c, list.DeepCopyObject().(client.ObjectList), to, opts)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("wait: %w", context.Cause(ctx))
		case done || err != nil:
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(rewatchAfter):
		}
	}
}

// followOnce lists and watches until the API server ends the watch.
func followOnce(ctx context.Context, c client.WithWatch, list client.ObjectList, to follower, opts []client.ListOption) (bool, error) {
	if err := c.List(ctx, list, opts...); err != nil {
		return false, err
	}
	existing := sets.New[types.UID]()
	err := meta.EachListItem(list, func(o runtime.Object) error {
		existing.Insert(o.(client.Object).GetUID())
		to.see(o.(client.Object), false)
		return nil
	})
	if err != nil {
		return false, err
	}
	if to.listed != nil {
		to.listed(existing)
	}
	if done, err := to.done(); done || err != nil {
		return done, err
	}
	raw := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	w, err := c.Watch(ctx, list, append([]client.ListOption{raw}, opts...)...)
	if err != nil {
		return false, err
	}
	defer w.Stop()
	return followWatch(ctx, w.ResultChan(), to)
}

func followWatch(ctx context.Context, events <-chan watch.Event, to follower) (bool, error) {
	idle := time.NewTicker(idleAfter)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case <-idle.C:
			if err := to.idle(ctx); err != nil {
				return false, err
			}
		case e, open := <-events:
			if !open {
				return false, nil
			}
			o, ok := e.Object.(client.Object)
			if !ok {
				return false, expired(apierrors.FromObject(e.Object))
			}
			if to.see(o, e.Type == watch.Deleted) {
				idle.Reset(idleAfter)
			}
		}
		if done, err := to.done(); done || err != nil {
			return done, err
		}
	}
}

// expired ignores that a watch cannot be resumed: it is started again.
func expired(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil
	}
	return err
}
