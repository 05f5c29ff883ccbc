// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"context"
	"errors"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/change"
	"mapcontroller.dev/snapshotschedule/internal/cli/doctor/prove/internal/core"
	"mapcontroller.dev/snapshotschedule/internal/cli/steps"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// poll is how often a run looks: the writer has to leave its mark soon after the cut.
const poll = 500 * time.Millisecond

// run is one proof in a namespace of its own.
type run struct {
	f       *term.Factory
	proof   core.Proof
	timeout time.Duration

	started time.Time
	// server is the API server's time at read.
	server, read time.Time
	namespace    *corev1.Namespace
	renewed      time.Time
	seen         *core.Seen
	copyName     string
}

// now is the API server's time: marks must not come from a user's machine.
func (r *run) now() time.Time { return r.server.Add(r.f.Clock.Since(r.read)) }

// readClock reads the API server's clock: that of a machine that has slept is late.
func (r *run) readClock(ctx context.Context) (err error) {
	if r.server, err = r.f.ServerTime(ctx); err != nil {
		return fmt.Errorf("read the API server's clock: %w", err)
	}
	r.read = r.f.Clock.Now()
	return nil
}

// run makes the namespace, takes all steps, and removes what it made. It returns what it could not remove.
func (r *run) run(ctx context.Context) (left []string, err error) {
	if err := r.readClock(ctx); err != nil {
		return nil, err
	}
	if err := r.begin(ctx); err != nil {
		return nil, r.interrupted(ctx, err)
	}
	err = r.take(ctx)
	if ctx.Err() != nil {
		return nil, r.interrupted(ctx, err)
	}
	term.Say(r.f.ErrOut, "Removing namespace "+r.namespace.Name)
	w := r.removal()
	left, removeErr := w.remove(ctx, r.proof.ID)
	if name := r.proof.Refused(); name != "" && removeErr == nil {
		var stays *snapshotv1.VolumeSnapshotContent
		stays, removeErr = view.LookUp(ctx, r.f.Client, client.ObjectKey{Name: name}, &snapshotv1.VolumeSnapshotContent{})
		if removeErr == nil && (stays == nil || w.goes == goes) { // else there was no time to wait
			r.proof.Settle(stays != nil)
		}
	}
	if len(left) > 0 { // the next run need not wait
		_ = r.mark(ctx, time.Unix(0, 0))
	}
	return left, r.interrupted(ctx, errors.Join(err, removeErr))
}

// removal is one in the time that is left.
func (r *run) removal() *removal {
	w := &removal{f: r.f, goes: goes}
	if r.timeout > 0 {
		w.goes = min(goes, r.timeout-r.f.Clock.Since(r.started))
	}
	return w
}

// begin creates the namespace. Of two that begin at once, the one whose namespace is younger gives way.
func (r *run) begin(ctx context.Context) error {
	r.proof.ID = rand.String(5)
	r.namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: core.Namespace(r.proof.ID), Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	core.Mark(r.namespace, r.proof.ID, r.now())
	r.renewed = r.now()
	term.Say(r.f.ErrOut, "Creating namespace "+r.namespace.Name)
	if err := r.f.Client.Create(ctx, r.namespace, term.FieldOwner); err != nil {
		return err
	}
	others, err := list(ctx, r.f)
	if other := living(others, r.now(), r.namespace); err == nil && other != "" {
		_, err = r.removal().remove(ctx, r.proof.ID)
		err = errors.Join(beside(other), err)
	}
	for err == nil && !r.proof.AsUser && r.namespace.Annotations[uidRange] == "" {
		if err = pause(ctx); err == nil {
			err = r.f.Client.Get(ctx, client.ObjectKeyFromObject(r.namespace), r.namespace)
		}
		if err == nil && r.now().Sub(r.renewed) > time.Minute {
			err = fmt.Errorf("namespace %s has no annotation %s yet", r.namespace.Name, uidRange)
		}
	}
	return err
}

// take takes all steps, until the time is up.
func (r *run) take(ctx context.Context) error {
	all := r.proof.Steps()
	r.seen = &core.Seen{ContentOf: map[string]string{}, VolumeOf: map[string]string{}}
	for i, step := range all {
		began := r.f.Clock.Now()
		term.Say(r.f.ErrOut, fmt.Sprintf("[%d/%d] %s", i+1, len(all), step.Name))
		said, wait := began, term.ProgressAfter
		for {
			late := r.timeout > 0 && r.f.Clock.Since(r.started) > r.timeout
			if err := r.observe(ctx, began); err != nil {
				return err
			}
			v := r.proof.Next(step, r.seen)
			if late && v.State == "" {
				v = core.Verdict{State: core.Unknown, Words: "timed out: " + v.Words}
			}
			if v.State != "" {
				took := r.f.Clock.Since(began).Round(100 * time.Millisecond).String()
				r.proof.End(step, v, took)
				break
			}
			for _, one := range v.Do {
				if err := steps.Send(ctx, r.f, one); err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
					return fmt.Errorf("%s: %w", step.Name, err)
				}
			}
			if len(v.Do) == 0 && r.f.Clock.Since(said) >= wait {
				said, wait = r.f.Clock.Now(), term.ProgressEvery
				term.Say(r.f.ErrOut, "Waiting: "+v.Words)
			}
			if err := errors.Join(r.renew(ctx), pause(ctx)); err != nil {
				return err
			}
		}
	}
	return nil
}

// renew renews the mark of the namespace and of the content.
func (r *run) renew(ctx context.Context) error {
	if r.now().Sub(r.renewed) < core.Renew {
		return nil
	}
	if err := r.readClock(ctx); err != nil {
		return err
	}
	if late := r.now().Sub(r.renewed); late >= core.Dead-core.Renew { // before others count it as dead: the new mark has to arrive, too
		return fmt.Errorf("this machine stood still for %s: another proof may have removed what this one made", term.Span(late))
	}
	r.renewed = r.now()
	return r.mark(ctx, r.now())
}

func (r *run) mark(ctx context.Context, at time.Time) error {
	renewed := map[string]any{v1alpha1.AnnotationProofRenewed: term.Timestamp(at)}
	contents := &snapshotv1.VolumeSnapshotContentList{}
	err := errors.Join(client.IgnoreNotFound(steps.Send(ctx, r.f, change.Mark(r.namespace, renewed))),
		r.f.List(ctx, contents, client.MatchingLabels{v1alpha1.LabelProof: r.proof.ID}))
	for i := range contents.Items {
		if c := &contents.Items[i]; core.Owner(c) == r.proof.ID {
			err = errors.Join(err, client.IgnoreNotFound(steps.Send(ctx, r.f, change.Mark(c, renewed))))
		}
	}
	return err
}

// interrupted adds to an error what stays, and how to go on. The mark goes, so that the next run need not wait.
func (r *run) interrupted(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	// It may exist without an answer to its create.
	now, lookErr := view.LookUp(last, r.f.Client, client.ObjectKeyFromObject(r.namespace), &corev1.Namespace{})
	if now != nil {
		r.namespace = now
	}
	_ = r.mark(last, time.Unix(0, 0))
	if lookErr == nil && now == nil {
		return err
	}
	return fmt.Errorf("%w\nNamespace %s stays, with what the proof made. Run the command again to remove it", err, r.namespace.Name)
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(poll):
		return nil
	}
}
