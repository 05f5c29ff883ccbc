// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// StartOperator starts the operator's program as the manifest has it, with some flags more, and
// does not wait for it. Its probes and metrics are on free ports of the loopback.
func (l *Lab) StartOperator(ctx context.Context, program string, m Manifest, flags ...string) (*Process, error) {
	metrics, err := freeAddress()
	if err != nil {
		return nil, err
	}
	args := slices.Concat(m.Args, []string{
		"--health-probe-bind-address=127.0.0.1:0",
		"--metrics-bind-address=" + metrics, "--metrics-secure=false",
		"--leader-election-namespace=" + systemNamespace,
	}, flags)
	p, err := l.start(ctx, "operator", slices.Concat(m.Processors, m.Env), program, args...)
	if err != nil {
		return nil, err
	}
	p.signalled = true
	p.metrics = "http://" + metrics + "/metrics"
	return p, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// canary is a namespace in which it is tried whether the operator works.
const canary = "canary"

// Works waits until the operator takes a snapshot, and then until it rests.
func (l *Lab) Works(ctx context.Context, p *Process) error {
	if err := l.Namespace(ctx, canary); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	if err := l.Put(ctx, Claim(canary, "claim", time.Now().Add(-time.Hour))); err != nil {
		return err
	}
	w, err := l.WatchSnapshots(ctx, canary)
	if err != nil {
		return err
	}
	defer w.Stop()
	alive, cancel := p.While(ctx)
	defer cancel()
	soon, cancel := context.WithTimeoutCause(alive, 2*time.Minute, errors.New("the operator takes no snapshots"))
	defer cancel()
	schedule := Schedule(canary, "canary", time.Time{}, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1d"})
	if err := l.Create(ctx, schedule); err != nil {
		return err
	}
	if err := w.Await(soon, Added, 1); err != nil {
		return fmt.Errorf("%w: %s", err, p.tail())
	}
	if err := l.Clear(ctx, canary); err != nil {
		return err
	}
	if err := w.Await(soon, Deleted, 1); err != nil {
		return err
	}
	return p.Quiesce(ctx)
}

// Create creates an object; what the API server sets is taken out first.
func (l *Lab) Create(ctx context.Context, o client.Object) error {
	o.SetUID("")
	o.SetResourceVersion("")
	o.SetGeneration(0)
	return l.Client.Create(ctx, o)
}

// Settled waits until the status of a schedule counts so many snapshots and PVCs.
func (l *Lab) Settled(ctx context.Context, schedule client.ObjectKey, claims, snapshots int) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var s v1alpha1.SnapshotSchedule
	for {
		if err := l.Client.Get(ctx, schedule, &s); err != nil {
			return err
		}
		in, out := s.Status.Inputs.PersistentVolumeClaims.Total, s.Status.Outputs.VolumeSnapshots.Total
		if int(in) == claims && int(out) == snapshots {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the status of schedule %s counts %d PVCs and %d snapshots instead of %d and %d: %w",
				schedule, in, out, claims, snapshots, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// Metrics reads the process's metrics that have no labels.
func (p *Process) Metrics(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metrics, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, p.explain(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the metrics: %s", answer.Status)
	}
	return parseMetrics(string(text)), nil
}
