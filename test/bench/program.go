// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/process"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// program is a client of the API server whose CPU and memory are measured: the operator or the bare client.
type program struct {
	*process.Process
	// metrics is the URL of the operator's metrics.
	metrics string
}

// startProgram starts the operator's program as in the manifest, with more flags, and does not wait for
// it. Its probes and metrics are on free ports of the loopback.
func (b *bench) startProgram(ctx context.Context, flags ...string) *program {
	listener := value(net.Listen("tcp", "127.0.0.1:0"))
	metrics := listener.Addr().String()
	must(listener.Close())
	p := b.server.run(ctx, process.Options{
		Name: "operator", Env: slices.Concat(b.manifest.processors, b.manifest.env),
		// The last of two flags with the same name wins.
		Command: slices.Concat([]string{b.operator}, b.manifest.args, []string{
			"--metrics-bind-address=" + metrics, "--metrics-secure=false", "--health-probe-bind-address=127.0.0.1:0",
			"--leader-election-namespace=" + cluster.SystemNamespace,
			"--max-in-flight-per-driver=0", // nothing cuts snapshots here; they are counted all the same
		}, flags),
	})
	p.metrics = "http://" + metrics + "/metrics"
	return p
}

// startBare starts this program as the bare client that the operator is compared with: on as many processors
// as the operator, but otherwise with Go's defaults.
func (b *bench) startBare(ctx context.Context, args ...string) *program {
	command := append([]string{value(os.Executable())}, args...)
	return b.server.run(ctx, process.Options{Name: "bare client", Command: command, Env: b.manifest.processors, Piped: true})
}

// run counts a process as running until it ends.
func (s *server) run(ctx context.Context, o process.Options) *program {
	o.Env = append([]string{"KUBECONFIG=" + s.kubeconfig}, o.Env...)
	o.Log = filepath.Join(s.dir, fmt.Sprintf("%s-%d.log", o.Name, s.started.Add(1)))
	p := value(process.Start(ctx, o))
	s.running.Add(1)
	go func() {
		<-p.Ended()
		s.running.Add(-1)
	}()
	return &program{Process: p}
}

// cpu returns what the process has used so far, on all threads, in user and kernel mode.
func (p *program) cpu() time.Duration {
	used, err := process.CPU(p.Pid())
	must(p.Explain(err))
	return used
}

// memory returns what the process holds.
func (p *program) memory() process.Memory {
	m, err := process.MemoryOf(p.Pid())
	must(p.Explain(err))
	return m
}

// waitIdle waits until the process has used next to no CPU for half a second.
func (p *program) waitIdle(ctx context.Context) {
	const (
		window  = 100 * time.Millisecond
		windows = 5
		most    = 3 * time.Millisecond
	)
	tick := time.NewTicker(window)
	defer tick.Stop()
	last := p.cpu()
	for idle := 0; idle < windows; idle++ {
		select {
		case <-ctx.Done():
			must(fmt.Errorf("the process does not become idle: %w", context.Cause(ctx)))
		case <-tick.C:
		}
		now := p.cpu()
		if now-last > most {
			idle = -1
		}
		last = now
	}
}

const (
	cyclesMetric = "go_gc_cycles_total_gc_cycles_total"
	liveMetric   = "go_gc_heap_live_bytes"
	scrapes      = 100_000
)

// gc returns the number of garbage collections so far, and the bytes that the last one found alive.
func (p *program) gc() (cycles, live float64) {
	answer, err := http.Get(p.metrics)
	must(p.Explain(err))
	defer answer.Body.Close()
	text := string(value(io.ReadAll(answer.Body)))
	metric := func(name string) float64 {
		_, rest, _ := strings.Cut(text, "\n"+name+" ")
		line, _, _ := strings.Cut(rest, "\n")
		v, err := strconv.ParseFloat(line, 64)
		if err != nil {
			must(fmt.Errorf("read %s of the metrics (%s): %w", name, answer.Status, err))
		}
		return v
	}
	return metric(cyclesMetric), metric(liveMetric)
}

// liveHeap returns the bytes that the garbage collector found alive in its last cycle (runtime/metrics
// /gc/heap/live:bytes). It waits for two whole cycles, which empty the pools: each scrape of the
// metrics allocates, so many scrapes cause a cycle.
func (p *program) liveHeap() float64 {
	first, _ := p.gc()
	for range scrapes {
		cycles, live := p.gc()
		// The cycle of the first scrape had begun before.
		if cycles >= first+3 {
			return live
		}
	}
	must(fmt.Errorf("%d scrapes of the metrics caused no garbage collection", scrapes))
	return 0
}

// canary is a schedule without PVCs that shows that the operator works.
const canary = "canary"

// startOperator starts the operator, and waits until it writes the status of a new schedule, and then until it is idle.
func (b *bench) startOperator(ctx context.Context, flags ...string) *program {
	o := b.startProgram(ctx, flags...)
	must(client.IgnoreAlreadyExists(b.server.namespace(ctx, canary)))
	alive, cancel := o.WithContext(ctx)
	defer cancel()
	soon, cancel := context.WithTimeoutCause(alive, 2*time.Minute, errors.New("the operator reconciles nothing"))
	defer cancel()
	schedule := builders.Schedule(canary, canary, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1d"})
	must(b.server.client.Create(ctx, schedule))
	err := poll(soon, 5*time.Millisecond, func() (bool, error) {
		err := b.server.client.Get(ctx, client.ObjectKeyFromObject(schedule), schedule)
		return schedule.Status.ObservedGeneration > 0, err
	})
	if err != nil {
		must(fmt.Errorf("%w: %s", err, o.Tail(20)))
	}
	b.server.clear(ctx, canary)
	o.waitIdle(ctx)
	return o
}

// waitForStatus waits until the status of a schedule counts these numbers of PVCs and snapshots.
func (s *server) waitForStatus(ctx context.Context, schedule client.ObjectKey, claims, snapshots int) {
	var in, out int32
	err := poll(ctx, 100*time.Millisecond, func() (bool, error) {
		var live v1alpha1.SnapshotSchedule
		err := s.client.Get(ctx, schedule, &live)
		in = ptr.Deref(live.Status.Inputs, v1alpha1.Inputs{}).PersistentVolumeClaims.Total
		out = live.Status.Outputs.VolumeSnapshots.Total
		return int(in) == claims && int(out) == snapshots, err
	})
	if err != nil {
		must(fmt.Errorf("the status of schedule %s counts %d PVCs and %d snapshots instead of %d and %d: %w",
			schedule, in, out, claims, snapshots, err))
	}
}

// manifest is what the shipped manifest starts the operator's container with.
type manifest struct {
	args []string
	// env has the variables that bound its memory, such as MEMORY_LIMIT and GOGC.
	env []string
	// processors is the GOMAXPROCS that Go derives from the container's CPU limit. It is empty without a limit.
	processors []string
}

// readManifest reads config/manager/manager.yaml.
func readManifest(root string) (m manifest, err error) {
	text, err := os.ReadFile(filepath.Join(root, "config", "manager", "manager.yaml"))
	if err != nil {
		return m, err
	}
	objects, err := repo.Decode(text)
	if err != nil {
		return m, err
	}
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].Object, &d); err != nil {
		return m, err
	}
	return manifestOf(d.Spec.Template.Spec.Containers[0])
}

func manifestOf(c corev1.Container) (manifest, error) {
	m := manifest{args: c.Args}
	for _, e := range c.Env {
		value := e.Value
		if e.ValueFrom != nil {
			if e.ValueFrom.ResourceFieldRef == nil || e.ValueFrom.ResourceFieldRef.Resource != "limits.memory" {
				return m, fmt.Errorf("variable %s of the manager does not come from limits.memory: the benchmarks have to be extended", e.Name)
			}
			value = strconv.FormatInt(c.Resources.Limits.Memory().Value(), 10)
		}
		m.env = append(m.env, e.Name+"="+value)
	}
	if cpu := c.Resources.Limits.Cpu(); !cpu.IsZero() {
		// Go uses at least two processors under a limit.
		m.processors = []string{fmt.Sprintf("GOMAXPROCS=%d", max(2, cpu.Value()))}
	}
	return m, nil
}
