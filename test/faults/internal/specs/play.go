// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
)

const (
	// within is how long anything may take.
	within = 30 * time.Second
	// quiet is how long nothing happens under an invalid spec while the operator
	// is given reason to do something.
	quiet = 700 * time.Millisecond
	// askAgain is how long a snapshot that was asked for may be waited for: with a
	// TTL or a deadline of a second, one may come too late to be taken.
	askAgain = 2 * time.Second
)

// stage is one plan being played, in a namespace of its own.
type stage struct {
	*environment.Run
	Plan
	claim *corev1.PersistentVolumeClaim
}

// play runs a plan.
func play(ctx context.Context, cluster *environment.Cluster, p Plan, namespace string) Result {
	began := time.Now()
	err := tryPlay(ctx, cluster, p, namespace)
	r := Result{ID: p.ID, Passed: err == nil, Took: time.Since(began)}
	if err != nil {
		r.Why = err.Error()
	}
	return r
}

func tryPlay(ctx context.Context, cluster *environment.Cluster, p Plan, namespace string) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &stage{Plan: p}
	if s.Run, err = cluster.NewRun(ctx, namespace); err != nil {
		return err
	}
	if s.claim, err = s.Claim(ctx, "data", 30*24*time.Hour, map[string]string{"app": "shop"}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.leave(ctx)) }()
	switch p.verdict {
	case refused:
		return s.playRefused(ctx)
	case invalid:
		return s.playInvalid(ctx)
	default:
		return s.playValid(ctx)
	}
}

// leave takes the schedule away, or it would go on for as long as others are
// tried.
func (s *stage) leave(ctx context.Context) error {
	o := environment.Named(&v1alpha1.SnapshotSchedule{}, s.Namespace, s.name)
	return client.IgnoreNotFound(s.Client.Delete(ctx, o))
}

// playRefused: the API server refuses it at once, by name, and lets a good one
// be; and that is not to be made bad.
func (s *stage) playRefused(ctx context.Context) error {
	if err := s.mustRefuse(s.Client.Create(ctx, s.schedule(s.name, s.spec))); err != nil {
		return err
	}
	name := "every"
	mended := s.schedule(name, good())
	if err := s.Client.Create(ctx, mended); err != nil {
		return fmt.Errorf("a mended one is not accepted: %w", err)
	}
	bad := s.name
	s.name = name
	if err := s.working(ctx, scheduled); err != nil {
		return err
	}
	if bad != name {
		return nil // a name can't be edited
	}
	generation := s.State().Schedule(name).Generation
	if err := s.mustRefuse(s.replaceSpec(ctx, s.spec)); err != nil {
		return fmt.Errorf("as an edit: %w", err)
	}
	live := &v1alpha1.SnapshotSchedule{}
	if err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, live); err != nil {
		return err
	}
	if live.Generation != generation {
		return errors.New("a refused edit made a new generation")
	}
	return nil
}

func (s *stage) mustRefuse(err error) error {
	switch {
	case err == nil:
		return errors.New("the API server takes it")
	case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		return fmt.Errorf("refused, but not as invalid: %w", err)
	case !slices.ContainsFunc(s.names, func(name string) bool { return strings.Contains(err.Error(), name) }):
		return fmt.Errorf("refused, but without naming any of %q: %w", s.names, err)
	}
	return nil
}

// playInvalid: the controller says so, by name, and neither creates nor deletes;
// mended, it does both.
func (s *stage) playInvalid(ctx context.Context) error {
	if err := s.Client.Create(ctx, s.schedule(s.name, s.spec)); err != nil {
		return fmt.Errorf("the API server refuses what only the controller should: %w", err)
	}
	if err := s.await(ctx, "condition InvalidSpec", s.saysInvalid); err != nil {
		return err
	}
	if err := s.witnesses(ctx); err != nil {
		return err
	}
	before := s.snapshots()
	if err := s.poke(ctx); err != nil {
		return err
	}
	quietly, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	if err := s.until(quietly, func() error { return same(before, s.snapshots()) }); err != nil {
		return fmt.Errorf("while the spec is invalid: %w", err)
	}
	if err := s.saysInvalid(); err != nil {
		return err
	}
	if err := s.replaceSpec(ctx, good()); err != nil {
		return fmt.Errorf("it can't be mended: %w", err)
	}
	return s.works(ctx, scheduled)
}

// until returns what breaks a condition before the context ends.
func (s *stage) until(ctx context.Context, holds func() error) error {
	for {
		if err := holds(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.Told():
		}
	}
}

// poke gives the operator reasons to look at the PVC, and to take a snapshot.
func (s *stage) poke(ctx context.Context) error {
	if err := s.Patch(ctx, s.named(), `{"metadata":{"annotations":{%q:%q}}}`,
		v1alpha1.AnnotationRequestedAt, time.Now().UTC().Format(time.RFC3339)); err != nil {
		return err
	}
	return s.Patch(ctx, environment.Named(&corev1.PersistentVolumeClaim{}, s.Namespace, "data"), `{"metadata":{"labels":{"poked":"yes"}}}`)
}

func (s *stage) saysInvalid() error {
	schedule := s.State().Schedule(s.name)
	c, err := readyCondition(schedule)
	switch {
	case err != nil:
		return err
	case c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonInvalidSpec:
		return fmt.Errorf("condition Ready is %s, %s: %s", c.Status, c.Reason, c.Message)
	}
	for _, name := range s.names {
		if !strings.Contains(c.Message, name) {
			return fmt.Errorf("the condition's message does not name %s: %s", name, c.Message)
		}
	}
	return nil
}

// readyCondition fails where status does not speak of the spec that is there.
func readyCondition(schedule *v1alpha1.SnapshotSchedule) (*metav1.Condition, error) {
	if schedule == nil {
		return nil, errors.New("the schedule is not there")
	}
	c := meta.FindStatusCondition(schedule.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || schedule.Status.ObservedGeneration != schedule.Generation {
		return nil, fmt.Errorf("status does not speak of generation %d yet", schedule.Generation)
	}
	return c, nil
}

// playValid: it is taken, and works.
func (s *stage) playValid(ctx context.Context) error {
	if err := s.Client.Create(ctx, s.schedule(s.name, s.spec)); err != nil {
		return fmt.Errorf("the API server refuses it: %w", err)
	}
	return s.working(ctx, s.reason)
}

func (s *stage) working(ctx context.Context, reason string) error {
	if err := s.witnesses(ctx); err != nil {
		return err
	}
	return s.works(ctx, reason)
}

// works: a snapshot that is asked for is taken, what has expired goes and nothing
// else, and status says what there is.
func (s *stage) works(ctx context.Context, reason string) error {
	if reason != v1alpha1.ReasonNoMatchingClaims {
		if err := s.takes(ctx); err != nil {
			return err
		}
	}
	reason, err := s.settles(ctx, reason)
	if err != nil {
		return err
	}
	err = s.await(ctx, "the state that the spec asks for", func() error {
		state := s.State()
		c, err := readyCondition(state.Schedule(s.name))
		if err != nil {
			return err
		}
		if c.Status != metav1.ConditionTrue || c.Reason != reason {
			return fmt.Errorf("condition Ready is %s, %s: %s", c.Status, c.Reason, c.Message)
		}
		if left := oracle.Left(state.Objects(), time.Now()); len(left) > 0 {
			return fmt.Errorf("still there: %s", strings.Join(left, ", "))
		}
		if wrong := oracle.TakeEndState(state.Objects()).Wrong; len(wrong) > 0 {
			return errors.New(strings.Join(wrong, "; "))
		}
		return nil
	})
	return errors.Join(err, s.unallowed())
}

// takes asks for a snapshot until one is there.
func (s *stage) takes(ctx context.Context) error {
	first := time.Now().Truncate(time.Second)
	for asked := first; ; asked = time.Now() {
		if err := s.Patch(ctx, s.named(), `{"metadata":{"annotations":{%q:%q}}}`,
			v1alpha1.AnnotationRequestedAt, asked.UTC().Format(time.RFC3339)); err != nil {
			return err
		}
		err := s.awaitFor(ctx, askAgain, "a snapshot", func() error {
			for _, c := range s.Changes() {
				v, ok := c.After.(*snapshotv1.VolumeSnapshot)
				if ok && c.Before == nil && !oracle.Slot(v).Before(first) {
					return nil
				}
			}
			return errors.New("none was taken")
		})
		if err == nil || time.Since(first) > within || ctx.Err() != nil {
			return err
		}
	}
}

// settles suspends a schedule that has so short an interval that nothing ever
// stands still.
func (s *stage) settles(ctx context.Context, reason string) (string, error) {
	if s.State().Schedule(s.name).Spec.SnapshotInterval != "1s" {
		return reason, nil
	}
	return v1alpha1.ReasonSuspended, s.Patch(ctx, s.named(), `{"spec":{"suspend":true}}`)
}

// unallowed is a delete that the contract does not allow in the state before it.
// In a plan nobody deletes snapshots but the operator.
func (s *stage) unallowed() error {
	there := map[string]client.Object{}
	key := func(o client.Object) string { return fmt.Sprintf("%T/%s", o, o.GetName()) }
	for _, c := range s.Changes() {
		v, ok := c.Before.(*snapshotv1.VolumeSnapshot)
		if ok && c.After == nil {
			var all []client.Object
			for _, o := range there {
				all = append(all, o)
			}
			if allowed, why := oracle.MayDelete(all, v, c.At); !allowed {
				return fmt.Errorf("%s was deleted, but %s", v.Name, why)
			}
		}
		if c.After == nil {
			delete(there, key(c.Before))
		} else {
			there[key(c.After)] = c.After
		}
	}
	return nil
}

// witnesses are two ready snapshots of before: one that the good spec lets
// expire, and one that stays.
func (s *stage) witnesses(ctx context.Context) error {
	schedule := &v1alpha1.SnapshotSchedule{}
	if err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.name}, schedule); err != nil {
		return err
	}
	for _, t := range []environment.Taken{{Name: "expired", Age: 20 * 24 * time.Hour}, {Name: "recent", Age: time.Hour}} {
		if err := s.Snapshot(ctx, schedule, s.claim, t); err != nil {
			return err
		}
	}
	return s.await(ctx, "the witnesses", func() error {
		for _, name := range []string{"expired", "recent"} {
			if !slices.ContainsFunc(s.Changes(), func(c history.Change) bool { return c.After != nil && c.After.GetName() == s.Called(name).Name }) {
				return errors.New("not seen yet: " + name)
			}
		}
		return nil
	})
}

func (s *stage) snapshots() []string {
	var names []string
	for _, v := range s.State().Snapshots {
		names = append(names, v.Name+" "+string(v.UID))
	}
	return names
}

func same(before, now []string) error {
	for _, name := range now {
		if !slices.Contains(before, name) {
			return fmt.Errorf("snapshot %s was created", name)
		}
	}
	for _, name := range before {
		if !slices.Contains(now, name) {
			return fmt.Errorf("snapshot %s was deleted", name)
		}
	}
	return nil
}

func (s *stage) named() *v1alpha1.SnapshotSchedule {
	return environment.Named(&v1alpha1.SnapshotSchedule{}, s.Namespace, s.name)
}

// schedule is not typed: what is wrong must reach the API server.
func (s *stage) schedule(name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(v1alpha1.GroupVersion.String())
	o.SetKind("SnapshotSchedule")
	o.SetNamespace(s.Namespace)
	o.SetName(name)
	if spec != nil {
		o.Object["spec"] = spec
	}
	return o
}

// replaceSpec puts one spec in the place of another.
func (s *stage) replaceSpec(ctx context.Context, spec map[string]any) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live := s.schedule(s.name, nil)
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return err
		}
		delete(live.Object, "spec")
		if spec != nil {
			live.Object["spec"] = spec
		}
		return s.Client.Update(ctx, live)
	})
}

func (s *stage) await(ctx context.Context, what string, holds func() error) error {
	return s.awaitFor(ctx, within, what, holds)
}

// awaitFor looks whenever something has changed, and now and then for what time
// alone changes.
func (s *stage) awaitFor(ctx context.Context, d time.Duration, what string, holds func() error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		err := holds()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not come about within %s: %w", what, d, err)
		case <-s.Told():
		case <-tick.C:
		}
	}
}
