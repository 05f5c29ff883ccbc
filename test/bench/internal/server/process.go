// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/process"
)

// Process is a client of the API server whose CPU and memory are measured: the operator or the bare client.
type Process struct {
	*process.Process
	// metrics is the URL of the operator's metrics.
	metrics string
}

// StartOperator starts the operator's program as in the manifest, with more flags, and does not wait for
// it. Its probes and metrics are on free ports of the loopback.
func (s *Server) StartOperator(ctx context.Context, program string, m Manifest, flags ...string) (*Process, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	metrics := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	p, err := s.start(ctx, process.Options{
		Name: "operator", Env: slices.Concat(m.Processors, m.Env),
		// The last of two flags with the same name wins.
		Command: slices.Concat([]string{program}, m.Args, []string{
			"--metrics-bind-address=" + metrics, "--metrics-secure=false", "--health-probe-bind-address=127.0.0.1:0",
			"--leader-election-namespace=" + cluster.SystemNamespace,
			"--max-in-flight-per-driver=0", // nothing cuts snapshots here; they are counted all the same
		}, flags),
	})
	if err != nil {
		return nil, err
	}
	p.metrics = "http://" + metrics + "/metrics"
	return p, nil
}

// StartBare starts this program as the bare client that the operator is compared with: on as many processors
// as the operator, but otherwise with Go's defaults.
func (s *Server) StartBare(ctx context.Context, m Manifest, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return s.start(ctx, process.Options{Name: "bare client", Command: append([]string{self}, args...), Env: m.Processors, Piped: true})
}

// start counts a process as running until it ends.
func (s *Server) start(ctx context.Context, o process.Options) (*Process, error) {
	o.Env = append([]string{"KUBECONFIG=" + s.kubeconfig}, o.Env...)
	o.Log = filepath.Join(s.dir, fmt.Sprintf("%s-%d.log", o.Name, s.started.Add(1)))
	p, err := process.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	s.running.Add(1)
	go func() {
		<-p.Ended()
		s.running.Add(-1)
	}()
	return &Process{Process: p}, nil
}

// CPU returns what the process has used so far, on all threads, in user and kernel mode.
func (p *Process) CPU() (time.Duration, error) {
	used, err := process.CPU(p.Pid())
	return used, p.Explain(err)
}

// Memory returns what the process holds.
func (p *Process) Memory() (process.Memory, error) {
	m, err := process.MemoryOf(p.Pid())
	return m, p.Explain(err)
}

// WaitIdle waits until the process has used next to no CPU for half a second.
func (p *Process) WaitIdle(ctx context.Context) error {
	const (
		window  = 100 * time.Millisecond
		windows = 5
		most    = 3 * time.Millisecond
	)
	tick := time.NewTicker(window)
	defer tick.Stop()
	last, err := p.CPU()
	if err != nil {
		return err
	}
	for idle := 0; idle < windows; idle++ {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the process does not become idle: %w", context.Cause(ctx))
		case <-tick.C:
		}
		now, err := p.CPU()
		if err != nil {
			return err
		}
		if now-last > most {
			idle = -1
		}
		last = now
	}
	return nil
}

// Stop stops the process, which must exit 0.
func (p *Process) Stop() error { return p.Process.Stop(20 * time.Second) }

const (
	cyclesMetric = "go_gc_cycles_total_gc_cycles_total"
	liveMetric   = "go_gc_heap_live_bytes"
	scrapes      = 100_000
)

// gc returns the number of garbage collections so far, and the bytes that the last one found alive.
func (p *Process) gc() (cycles, live float64, err error) {
	answer, err := http.Get(p.metrics)
	if err != nil {
		return 0, 0, p.Explain(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, 0, err
	}
	metric := func(name string) (v float64) {
		_, rest, _ := strings.Cut(string(text), "\n"+name+" ")
		line, _, _ := strings.Cut(rest, "\n")
		v, parseErr := strconv.ParseFloat(line, 64)
		if parseErr != nil {
			err = errors.Join(err, fmt.Errorf("read %s of the metrics (%s): %w", name, answer.Status, parseErr))
		}
		return v
	}
	cycles, live = metric(cyclesMetric), metric(liveMetric)
	return cycles, live, err
}

// LiveHeap returns the bytes that the garbage collector found alive in its last cycle (runtime/metrics
// /gc/heap/live:bytes). It waits for two whole cycles, which empty the pools: each scrape of the
// metrics allocates, so many scrapes cause a cycle.
func (p *Process) LiveHeap() (float64, error) {
	first, _, err := p.gc()
	if err != nil {
		return 0, err
	}
	for range scrapes {
		cycles, live, err := p.gc()
		// The cycle of the first scrape had begun before.
		if err != nil || cycles >= first+3 {
			return live, err
		}
	}
	return 0, fmt.Errorf("%d scrapes of the metrics caused no garbage collection", scrapes)
}

// canary is a schedule without PVCs that shows that the operator works.
const canary = "canary"

// WaitWorking waits until the operator writes the status of a new schedule, and then until it is idle.
func (s *Server) WaitWorking(ctx context.Context, o *Process) error {
	if err := s.Namespace(ctx, canary); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	alive, cancel := o.WithContext(ctx)
	defer cancel()
	soon, cancel := context.WithTimeoutCause(alive, 2*time.Minute, errors.New("the operator reconciles nothing"))
	defer cancel()
	schedule := builders.Schedule(canary, canary, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1d"})
	if err := s.Client.Create(ctx, schedule); err != nil {
		return err
	}
	err := poll(soon, 5*time.Millisecond, func() (bool, error) {
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(schedule), schedule)
		return schedule.Status.ObservedGeneration > 0, err
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, o.Tail(20))
	}
	return errors.Join(s.Clear(ctx, canary), o.WaitIdle(ctx))
}

// WaitForStatus waits until the status of a schedule counts these numbers of PVCs and snapshots.
func (s *Server) WaitForStatus(ctx context.Context, schedule client.ObjectKey, claims, snapshots int) error {
	var in, out int32
	err := poll(ctx, 100*time.Millisecond, func() (bool, error) {
		var live v1alpha1.SnapshotSchedule
		err := s.Client.Get(ctx, schedule, &live)
		in = ptr.Deref(live.Status.Inputs, v1alpha1.Inputs{}).PersistentVolumeClaims.Total
		out = live.Status.Outputs.VolumeSnapshots.Total
		return int(in) == claims && int(out) == snapshots, err
	})
	if err != nil {
		return fmt.Errorf("the status of schedule %s counts %d PVCs and %d snapshots instead of %d and %d: %w",
			schedule, in, out, claims, snapshots, err)
	}
	return nil
}
