// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/check"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

const (
	namespace     = "demo"
	scheduleName  = "my-app-snapshots"
	claimsFile    = "hack/demo/manifests/claims.yaml"
	scheduleFile  = "hack/demo/manifests/schedule.yaml"
	crdFolder     = "config/crd/bases"
	crd           = "customresourcedefinition/snapshotschedules.snapshots.mapcontroller.dev"
	enoughReady   = 3
	enoughExpired = 2
)

// setUp is act 1: the cluster and the operator.
func (p *play) setUp(ctx context.Context, end context.CancelCauseFunc) error {
	p.screen.Act(1, "A cluster and the operator")
	p.screen.Say("A real API server, controllers and CSI snapshot stack, as processes on this machine.")
	begun := time.Now()
	if err := p.set.Up(ctx); err != nil {
		return err
	}
	if err := p.set.Healthy(ctx); err != nil {
		return fmt.Errorf("the cluster is not healthy: %w", err)
	}
	p.screen.Done("the cluster is up, all its parts are healthy", time.Since(begun))
	if err := p.kubectl(ctx, "apply", "-f", crdFolder); err != nil {
		return err
	}
	if err := p.kubectl(ctx, "wait", "--for=condition=Established", crd); err != nil {
		return err
	}
	begun = time.Now()
	if err := p.startOperator(ctx, end); err != nil {
		return err
	}
	p.screen.Done("the operator is ready", time.Since(begun))
	return p.seen.Watch(ctx, p.set.Kubeconfig())
}

// startOperator starts it and ends the play if it ends.
func (p *play) startOperator(ctx context.Context, end context.CancelCauseFunc) error {
	soon, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the operator is not ready after %s", patience))
	defer cancel()
	if err := p.set.StartOperator(soon); err != nil {
		return err
	}
	ended := p.set.Operator()
	go func() {
		select {
		case <-ended:
			end(fmt.Errorf("the operator ended by itself; its log is in %s", p.set.OperatorLog()))
		case <-ctx.Done():
		}
	}()
	return nil
}

// claims is act 2: PVCs.
func (p *play) claims(ctx context.Context) error {
	p.screen.Act(2, "Four PVCs")
	p.screen.Say("Three are labelled app=my-app, one is not. The CSI driver provides their volumes.")
	if err := p.kubectl(ctx, "create", "namespace", namespace); err != nil {
		return err
	}
	if err := p.kubectl(ctx, "apply", "-f", claimsFile); err != nil {
		return err
	}
	return p.await(ctx, patience, func(w record.World) check.Result {
		return check.Bound(w, "db", "files", "mail", "scratch")
	})
}

// schedule is act 3: snapshots are taken, and expire.
func (p *play) schedule(ctx context.Context) error {
	p.screen.Act(3, "A SnapshotSchedule: each selected PVC gets its snapshots")
	text, err := os.ReadFile(filepath.Join(p.set.Root, scheduleFile))
	if err != nil {
		return err
	}
	p.screen.Output(string(text))
	if err := p.kubectl(ctx, "apply", "-f", scheduleFile); err != nil {
		return err
	}
	if err := p.learnTerms(ctx); err != nil {
		return err
	}
	p.screen.Say("\nOne snapshot of each PVC every %s; after %s each goes again.\n", p.terms.Interval, p.terms.TTL)
	_, err = p.until(ctx, p.terms.TTL+patience, func(w record.World) check.Result {
		if r := check.Ready(w, p.terms, enoughReady); !r.OK {
			return r
		}
		return check.Expired(w, p.terms, enoughExpired)
	})
	if err != nil {
		return err
	}
	w := p.world()
	return p.verify(
		check.Ready(w, p.terms, enoughReady),
		check.Slots(w, p.terms),
		check.Expired(w, p.terms, enoughExpired),
		check.Expiry(w, p.terms),
		check.Count(w, p.terms),
		check.Unique(w),
		check.Owned(w, p.terms),
	)
}

// learnTerms waits for the schedule to be seen, and reads what it says.
func (p *play) learnTerms(ctx context.Context) error {
	r, err := p.until(ctx, patience, func(w record.World) check.Result {
		return check.Result{Name: "schedule", Expected: "the schedule is there", Seen: "none", OK: w.Schedule != nil}
	})
	if err != nil {
		return err
	}
	if !r.OK {
		return p.verify(r)
	}
	p.terms, err = termsOf(p.world())
	return err
}

// termsOf reads what the schedule says.
func termsOf(w record.World) (check.Terms, error) {
	s := w.Schedule
	t := check.Terms{ScheduleUID: string(s.UID), ScheduleCreated: s.CreationTimestamp.Time}
	selector, err := metav1.LabelSelectorAsSelector(&s.Spec.Selector)
	if err != nil {
		return t, err
	}
	for _, c := range w.Claims {
		if selector.Matches(labels.Set(c.Labels)) {
			t.Selected = append(t.Selected, c.Name)
		}
	}
	if t.TTL, err = duration(s.Spec.SnapshotTTL); err != nil {
		return t, err
	}
	t.Interval, err = duration(s.Spec.SnapshotInterval)
	return t, err
}

// duration reads the short times of the demo, which Go writes alike.
func duration(d v1alpha1.Duration) (time.Duration, error) {
	return time.ParseDuration(string(d))
}
