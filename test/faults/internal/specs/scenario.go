// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

const (
	// timeout limits every wait.
	timeout = 30 * time.Second
	// quietTime is how long nothing may change under an invalid spec.
	quietTime = 700 * time.Millisecond
	// requestAgain is how long to wait for a requested snapshot: with a TTL or a
	// deadline of a second, the request may expire first.
	requestAgain = 2 * time.Second
)

// scenario is the run of one plan, in its own namespace.
type scenario struct {
	*environment.Run
	Plan
	claim *corev1.PersistentVolumeClaim
}

func run(ctx context.Context, cluster *environment.Cluster, p Plan, namespace string) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &scenario{Plan: p}
	if s.Run, err = cluster.NewRun(ctx, namespace); err != nil {
		return err
	}
	if s.claim, err = s.Claim(ctx, "data", 30*24*time.Hour, map[string]string{"app": "shop"}); err != nil {
		return err
	}
	schedule := s.schedule()
	schedule.Object["spec"] = p.spec
	if err := s.Client.Create(ctx, schedule); err != nil {
		return fmt.Errorf("create the schedule: %w", err)
	}
	// In its first hour it would delete no seeded snapshot.
	schedule.SetCreationTimestamp(metav1.NewTime(s.Now.Add(-2 * time.Hour)))
	if err := s.Overwrite(ctx, schedule); err != nil {
		return fmt.Errorf("make the schedule older: %w", err)
	}
	// Otherwise it would stay active while other plans run.
	defer func() { err = errors.Join(err, client.IgnoreNotFound(s.Client.Delete(ctx, s.schedule()))) }()
	if len(p.invalid) == 0 {
		if err := s.seedSnapshots(ctx); err != nil {
			return err
		}
		return s.works(ctx, p.reason)
	}
	if err := await(ctx, "condition InvalidSpec", s.reportsInvalid); err != nil {
		return err
	}
	if err := s.changesNothing(ctx); err != nil {
		return fmt.Errorf("while the spec is invalid: %w", err)
	}
	if err := s.fixSpec(ctx); err != nil {
		return fmt.Errorf("fix the spec: %w", err)
	}
	return s.works(ctx, v1alpha1.ReasonScheduled)
}

// changesNothing gives the operator reasons to create and delete snapshots, and
// fails if it does.
func (s *scenario) changesNothing(ctx context.Context) error {
	if err := s.seedSnapshots(ctx); err != nil {
		return err
	}
	before := s.snapshots()
	if err := s.requestSnapshot(ctx, time.Now()); err != nil {
		return err
	}
	claim := environment.Named(&corev1.PersistentVolumeClaim{}, s.Namespace, "data")
	if err := s.Patch(ctx, claim, `{"metadata":{"labels":{"changed":"yes"}}}`); err != nil {
		return err
	}
	end := time.After(quietTime)
	for {
		if err := sameSnapshots(before, s.snapshots()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			return s.reportsInvalid()
		case <-s.Told():
		}
	}
}

// works fails unless the operator takes a requested snapshot, deletes exactly what
// has expired, and reports the reason.
func (s *scenario) works(ctx context.Context, reason string) error {
	if reason != v1alpha1.ReasonNoMatchingClaims {
		if err := s.takesSnapshot(ctx); err != nil {
			return err
		}
	}
	if s.State().Schedule(s.name).Spec.SnapshotInterval == "1s" {
		// With so short an interval, the state would never settle.
		reason = v1alpha1.ReasonSuspended
		if err := s.Patch(ctx, s.schedule(), `{"spec":{"suspend":true}}`); err != nil {
			return err
		}
	}
	err := await(ctx, "the expected state", func() error { return s.settled(reason) })
	return errors.Join(err, s.deletesAllowed())
}

// takesSnapshot requests a snapshot until one is taken.
func (s *scenario) takesSnapshot(ctx context.Context) error {
	first := time.Now().Truncate(time.Second)
	for requested := first; ; requested = time.Now() {
		if err := s.requestSnapshot(ctx, requested); err != nil {
			return err
		}
		err := awaitFor(ctx, requestAgain, "a snapshot", func() error { return s.hasTaken(first) })
		if err == nil || time.Since(first) > timeout || ctx.Err() != nil {
			return err
		}
	}
}

func (s *scenario) requestSnapshot(ctx context.Context, at time.Time) error {
	return s.Patch(ctx, s.schedule(), `{"metadata":{"annotations":{%q:%q}}}`,
		v1alpha1.AnnotationRequestedAt, at.UTC().Format(time.RFC3339))
}

// seedSnapshots creates two ready snapshots: the good spec expires one and keeps the
// other.
func (s *scenario) seedSnapshots(ctx context.Context) error {
	schedule := &v1alpha1.SnapshotSchedule{}
	if err := s.Client.Get(ctx, client.ObjectKeyFromObject(s.schedule()), schedule); err != nil {
		return err
	}
	seeds := map[string]time.Duration{"expired": 20 * 24 * time.Hour, "recent": time.Hour}
	for name, age := range seeds {
		if err := s.Snapshot(ctx, schedule, s.claim, environment.Taken{Name: name, Age: age}); err != nil {
			return err
		}
	}
	return await(ctx, "the record of the seeded snapshots", func() error {
		for name := range seeds {
			if !s.recorded(s.Called(name).Name) {
				return fmt.Errorf("%s is not recorded yet", name)
			}
		}
		return nil
	})
}

// schedule returns the schedule without a spec. It is unstructured so that specs
// reach the API server unchanged.
func (s *scenario) schedule() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))
	return environment.Named(o, s.Namespace, s.name)
}

// fixSpec replaces the spec as a whole by the good one.
func (s *scenario) fixSpec(ctx context.Context) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live := s.schedule()
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return err
		}
		live.Object["spec"] = goodSpec()
		return s.Client.Update(ctx, live)
	})
}

func await(ctx context.Context, what string, holds func() error) error {
	return awaitFor(ctx, timeout, what, holds)
}

func awaitFor(ctx context.Context, d time.Duration, what string, holds func() error) error {
	if err := environment.Await(ctx, d, holds); err != nil {
		return fmt.Errorf("%s not reached within %s: %w", what, d, err)
	}
	return nil
}
