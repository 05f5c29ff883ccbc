// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/operator"
)

// Operator is a process of the operator's program.
type Operator struct {
	*Client
	// metrics is the URL of its metrics.
	metrics string
}

// StartOperator starts the operator's program as in the manifest, with more flags, and does not wait for
// it. Its probes and metrics are on free ports of the loopback.
func (s *Server) StartOperator(ctx context.Context, program string, m Manifest, flags ...string) (*Operator, error) {
	metrics, err := freeAddress()
	if err != nil {
		return nil, err
	}
	o, err := operator.Start(ctx, operator.Options{
		Command: []string{program}, Kubeconfig: s.kubeconfig, Env: slices.Concat(m.Processors, m.Env),
		Flags: slices.Concat(m.Args, []string{
			"--metrics-bind-address=" + metrics, "--metrics-secure=false", "--leader-election-namespace=" + cluster.SystemNamespace,
			"--max-in-flight-per-driver=0", // nothing cuts snapshots here; they are counted all the same
		}, flags),
		Dir: s.dir, Name: s.fileName("operator"),
	})
	if err != nil {
		return nil, err
	}
	return &Operator{Client: s.client(o.Process), metrics: "http://" + metrics + "/metrics"}, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// canary is the namespace of the snapshot that shows that the operator works.
const canary = "canary"

// WaitWorking waits until the operator takes a snapshot, and then until it is idle.
func (s *Server) WaitWorking(ctx context.Context, o *Operator) error {
	if err := s.Namespace(ctx, canary); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	if err := s.Put(ctx, Claim(canary, "claim", time.Now().Add(-time.Hour))); err != nil {
		return err
	}
	w, err := s.WatchSnapshots(ctx, canary)
	if err != nil {
		return err
	}
	defer w.Stop()
	alive, cancel := o.WithContext(ctx)
	defer cancel()
	soon, cancel := context.WithTimeoutCause(alive, 2*time.Minute, errors.New("the operator takes no snapshots"))
	defer cancel()
	schedule := Schedule(canary, "canary", time.Time{}, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1d"})
	if err := s.Create(ctx, schedule); err != nil {
		return err
	}
	if err := w.Wait(soon, watch.Added, 1); err != nil {
		return fmt.Errorf("%w: %s", err, o.Tail(20))
	}
	if err := s.Clear(ctx, canary); err != nil {
		return err
	}
	if err := w.Wait(soon, watch.Deleted, 1); err != nil {
		return err
	}
	return o.WaitIdle(ctx)
}

// Create creates an object, without what the API server sets.
func (s *Server) Create(ctx context.Context, o client.Object) error {
	o.SetUID("")
	o.SetResourceVersion("")
	o.SetGeneration(0)
	return s.Client.Create(ctx, o)
}

// WaitForStatus waits until the status of a schedule counts these numbers of PVCs and snapshots.
func (s *Server) WaitForStatus(ctx context.Context, schedule client.ObjectKey, claims, snapshots int) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var live v1alpha1.SnapshotSchedule
	for {
		if err := s.Client.Get(ctx, schedule, &live); err != nil {
			return err
		}
		in := ptr.Deref(live.Status.Inputs, v1alpha1.Inputs{}).PersistentVolumeClaims.Total
		out := live.Status.Outputs.VolumeSnapshots.Total
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
