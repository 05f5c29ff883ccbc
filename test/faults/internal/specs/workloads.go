// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/workload"
)

// requestAgain is how long to wait for a requested snapshot: with a TTL or a deadline of a second, the request may expire first.
const requestAgain = 2 * time.Second

// Workloads returns one workload for every plan. Under an invalid spec the operator reports that, and changes nothing until the spec is
// fixed. Under a valid one it takes a requested snapshot, deletes exactly what has expired, and reports the reason.
func Workloads() (all []workload.Workload) {
	for _, p := range Plans() {
		all = append(all, p.workload())
	}
	return all
}

func (p Plan) workload() workload.Workload {
	w := workload.Workload{Name: strings.TrimPrefix(p.ID, "specs:"), What: "a spec", Prepare: p.prepare}
	reason := p.reason
	if len(p.invalid) > 0 {
		reported := func(s environment.State) bool { return p.reportsInvalid(s) == nil }
		w.Steps = []workload.Step{
			{What: "give reasons to take and delete something", When: reported, Do: p.provoke},
			{What: "fix the spec", When: func(s environment.State) bool { return reported(s) && untouched(s) }, Calm: true, Do: p.fix},
		}
		reason = v1alpha1.ReasonScheduled
	}
	if reason != v1alpha1.ReasonNoMatchingClaims {
		observed := func(s environment.State) bool {
			o := s.Schedule(p.name)
			return o != nil && o.Status.ObservedGeneration == o.Generation
		}
		w.Steps = append(w.Steps, workload.Step{What: "request a snapshot", When: observed, Operators: true, Do: p.takes})
	}
	if p.spec["snapshotInterval"] == "1s" { // it would never settle
		reason = v1alpha1.ReasonSuspended
		w.Steps = append(w.Steps, workload.Step{
			What: "suspend", When: func(environment.State) bool { return true },
			Do: func(ctx context.Context, r *environment.Run) error {
				return r.Patch(ctx, p.object(r), `{"spec":{"suspend":true}}`)
			},
		})
	}
	w.End = func(s environment.State) error { return p.settled(s, reason) }
	return w
}

// prepare creates the schedule through the API server, which keeps the spec as it is, and two ready snapshots: the good spec expires one
// and keeps the other. In its first hour the schedule would delete neither.
func (p Plan) prepare(ctx context.Context, r *environment.Run) error {
	claim, err := r.Claim(ctx, "data", 30*24*time.Hour, map[string]string{"app": "shop"})
	if err != nil {
		return err
	}
	o := p.object(r)
	o.Object["spec"] = p.spec
	if err := r.Client.Create(ctx, o); err != nil {
		return fmt.Errorf("create the schedule: %w", err)
	}
	o.SetCreationTimestamp(metav1.NewTime(r.Now.Add(-2 * time.Hour)))
	if err := r.Overwrite(ctx, o); err != nil {
		return err
	}
	schedule := &v1alpha1.SnapshotSchedule{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(o), schedule); err != nil {
		return err
	}
	orphan := schedule.Spec.DeletionPolicy == v1alpha1.DeletionOrphan // the first spec makes no references
	for name, age := range map[string]time.Duration{"expired": 20 * 24 * time.Hour, "recent": time.Hour} {
		if err := r.Snapshot(ctx, schedule, claim, environment.Taken{Name: name, Age: age, Orphan: orphan}); err != nil {
			return err
		}
	}
	return nil
}

// object returns the schedule without a spec. It is unstructured so that specs reach the API server unchanged.
func (p Plan) object(r *environment.Run) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))
	return environment.Named(o, r.Namespace, p.name)
}

// untouched returns whether exactly the snapshots of the start exist.
func untouched(s environment.State) bool {
	return len(s.Snapshots) == 2 && s.Snapshot("expired") != nil && s.Snapshot("recent") != nil
}

func (p Plan) provoke(ctx context.Context, r *environment.Run) error {
	claim := environment.Named(&corev1.PersistentVolumeClaim{}, r.Namespace, "data")
	return errors.Join(p.request(ctx, r), r.Patch(ctx, claim, `{"metadata":{"labels":{"changed":"yes"}}}`))
}

func (p Plan) request(ctx context.Context, r *environment.Run) error {
	now := time.Now().UTC().Format(time.RFC3339)
	return r.Patch(ctx, p.object(r), `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationRequestedAt, now)
}

// fix replaces the spec as a whole by the good one.
func (p Plan) fix(ctx context.Context, r *environment.Run) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live := p.object(r)
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return err
		}
		live.Object["spec"] = goodSpec()
		return r.Client.Update(ctx, live)
	})
}

// takes requests a snapshot until one is taken.
func (p Plan) takes(ctx context.Context, r *environment.Run) (err error) {
	first := time.Now().Truncate(time.Second)
	for ctx.Err() == nil && time.Since(first) < 10*requestAgain {
		r.World.Lock()
		err = p.request(ctx, r)
		r.World.Unlock()
		if err != nil {
			return err
		}
		if err = environment.Await(ctx, requestAgain, func() error { return taken(r, first) }); err == nil {
			return nil
		}
	}
	return err
}

// taken fails unless a snapshot of a slot since a time was created.
func taken(r *environment.Run, since time.Time) error {
	for _, c := range r.Changes() {
		if v, ok := c.After.(*snapshotv1.VolumeSnapshot); ok && c.Before == nil && !judge.Slot(v).Before(since) {
			return nil
		}
	}
	return errors.New("no snapshot was taken")
}

func (p Plan) reportsInvalid(s environment.State) error {
	message, err := p.ready(s, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec)
	if err != nil {
		return err
	}
	for _, name := range p.invalid {
		if !strings.Contains(message, name) {
			return fmt.Errorf("the message of condition Ready does not name %s: %s", name, message)
		}
	}
	return workload.NoStatusErrors(s)
}

func (p Plan) settled(s environment.State, reason string) error {
	if _, err := p.ready(s, metav1.ConditionTrue, reason); err != nil {
		return err
	}
	if left := judge.Overdue(s.Objects(), time.Now()); len(left) > 0 {
		return fmt.Errorf("not deleted: %s", strings.Join(left, ", "))
	}
	return workload.NoStatusErrors(s)
}

// ready compares condition Ready of the current generation, and returns its message.
func (p Plan) ready(s environment.State, status metav1.ConditionStatus, reason string) (message string, err error) {
	o := s.Schedule(p.name)
	if o == nil {
		return "", errors.New("the schedule does not exist")
	}
	c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || o.Status.ObservedGeneration != o.Generation {
		return "", fmt.Errorf("status does not cover generation %d yet", o.Generation)
	}
	if c.Status != status || c.Reason != reason {
		return "", fmt.Errorf("condition Ready is %s, %s: %s", c.Status, c.Reason, c.Message)
	}
	return c.Message, nil
}
