// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/bareclient"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
)

const (
	// workers is the number of concurrent creates: the operator's in one namespace.
	workers      = 32
	scheduleName = "schedule"
)

// burst is the result of one client creating a snapshot of each PVC.
type burst struct {
	// rate is creates per second, from the first to the last.
	rate float64
	// cpu is the client's CPU per create, server that of etcd and kube-apiserver together.
	cpu, server time.Duration
	// first is the time from the trigger to the first create.
	first time.Duration
	// normalized is what was created.
	normalized string
}

func claimName(i int) string { return fmt.Sprintf("claim-%05d", i) }

// seedClaims writes PVCs that are as old as those of a dataset.
func seedClaims(ctx context.Context, srv *server.Server, namespace string, n int) error {
	created := time.Now().Add(-longAgo)
	seed := srv.Seed(ctx)
	for i := range n {
		seed.Put(server.Claim(namespace, claimName(i), created))
	}
	return seed.Close()
}

// fanOut lets the operator and the bare client create the same snapshots, in turns.
func fanOut(ctx context.Context, b *bench, srv *server.Server) error {
	const bareNamespace, operatorNamespace = "fan-out-bare", "fan-out-full"
	if err := errors.Join(srv.Namespace(ctx, bareNamespace), srv.Namespace(ctx, operatorNamespace)); err != nil {
		return err
	}
	var bares, operators []burst
	for round := range b.rounds {
		turns := []func() error{
			func() error { return collect(&bares)(b.bareBurst(ctx, srv, bareNamespace)) },
			func() error { return collect(&operators)(b.operatorBurst(ctx, srv, operatorNamespace)) },
		}
		first := round % 2 // the first of a round is the second of the next
		if err := turns[first](); err != nil {
			return err
		}
		if err := turns[1-first](); err != nil {
			return err
		}
		bare, operator := bares[round], operators[round]
		b.progressf("round %d of %d: bare %.0f/s with %s CPU each, operator %.0f/s with %s",
			round+1, b.rounds, bare.rate, ms(bare.cpu), operator.rate, ms(operator.cpu))
		if bare.normalized != operator.normalized {
			return fmt.Errorf("the operator and the bare client create different objects, so they can't be compared:\n%s\n%s",
				operator.normalized, bare.normalized)
		}
	}
	b.fanOutRows(bares, operators)
	return nil
}

func collect(into *[]burst) func(burst, error) error {
	return func(one burst, err error) error {
		*into = append(*into, one)
		return err
	}
}

func (b *bench) bareBurst(ctx context.Context, srv *server.Server, namespace string) (one burst, err error) {
	if err := seedClaims(ctx, srv, namespace, b.claims); err != nil {
		return one, err
	}
	c, err := srv.StartBareCreates(ctx, b.manifest, bareclient.Job{
		Namespace: namespace, Owner: scheduleName, OwnerUID: types.UID("0b0e7a4e-0f7f-4a57-8d0c-6f4f4d3c2b1a"),
		Slot: time.Now(), Claims: b.claims, Workers: workers,
	})
	if err != nil {
		return one, err
	}
	defer func() { err = errors.Join(err, c.Stop(), srv.Clear(ctx, namespace)) }()
	if err := c.WaitIdle(ctx); err != nil {
		return one, err
	}
	return b.measureBurst(ctx, srv, c.Client, namespace, c.Go, func(context.Context) error { return c.Wait() })
}

func (b *bench) operatorBurst(ctx context.Context, srv *server.Server, namespace string) (one burst, err error) {
	if err := seedClaims(ctx, srv, namespace, b.claims); err != nil {
		return one, err
	}
	o, err := srv.StartOperator(ctx, b.operator, b.manifest)
	if err != nil {
		return one, err
	}
	defer func() { err = errors.Join(err, o.Stop(), srv.Clear(ctx, namespace)) }()
	if err := srv.WaitWorking(ctx, o); err != nil {
		return one, err
	}
	schedule := server.Schedule(namespace, scheduleName, time.Time{}, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: interval})
	return b.measureBurst(ctx, srv, o.Client, namespace,
		func() error { return srv.Create(ctx, schedule) },
		func(ctx context.Context) error {
			return srv.WaitForStatus(ctx, client.ObjectKeyFromObject(schedule), b.claims, b.claims)
		})
}

// measureBurst gives the order and waits for the snapshots, and then until the client is idle: its CPU
// includes what comes after the last create, such as the status.
func (b *bench) measureBurst(
	ctx context.Context, srv *server.Server, c *server.Client, namespace string, order func() error, settled func(context.Context) error,
) (one burst, err error) {
	w, err := srv.WatchSnapshots(ctx, namespace)
	if err != nil {
		return one, err
	}
	defer w.Stop()
	before, err := srv.CPU()
	if err != nil {
		return one, err
	}
	var after time.Duration
	var ordered time.Time
	cpu, err := c.UsedCPU(ctx, func(ctx context.Context) (err error) {
		ordered = time.Now()
		if err := order(); err != nil {
			return err
		}
		if err := w.Wait(ctx, watch.Added, b.claims); err != nil {
			return err
		}
		if after, err = srv.CPU(); err != nil {
			return err
		}
		return settled(ctx)
	})
	if err != nil {
		return one, err
	}
	created := w.Times(watch.Added)
	if n := len(created); n != b.claims {
		return one, fmt.Errorf("%d snapshots were created of %d PVCs", n, b.claims)
	}
	each := time.Duration(b.claims)
	one = burst{rate: w.Rate(watch.Added), cpu: cpu / each, server: (after - before) / each, first: created[0].Sub(ordered)}
	one.normalized, err = srv.Normalized(ctx, namespace)
	return one, err
}

func (b *bench) fanOutRows(bares, operators []burst) {
	pick := func(all []burst, of func(burst) float64) []float64 {
		values := make([]float64, len(all))
		for i, one := range all {
			values[i] = of(one)
		}
		return values
	}
	// Bursts of the same round are compared, because the machine's speed drifts.
	ratio := func(of func(burst) float64) float64 {
		values := pick(operators, of)
		for i, bare := range pick(bares, of) {
			values[i] /= bare
		}
		return report.Median(values)
	}
	rate := func(one burst) float64 { return one.rate }
	cpu := func(one burst) float64 { return one.cpu.Seconds() * 1000 }
	server := func(one burst) float64 { return one.server.Seconds() * 1000 }
	first := func(one burst) float64 { return one.first.Seconds() * 1000 }
	text := func(all []burst, of func(burst) float64, format, unit string) string {
		values := pick(all, of)
		return fmt.Sprintf(format+" "+unit+" ("+format+"–"+format+")", report.Median(values), slices.Min(values), slices.Max(values))
	}
	compare := func(what, format, unit string, of func(burst) float64) report.Row {
		return report.Row{
			What: what, Measured: text(operators, of, format, unit), Limit: text(bares, of, format, unit),
			Values: map[string]float64{
				"measured": report.Median(pick(operators, of)), "bare": report.Median(pick(bares, of)), "ratio": ratio(of),
			},
		}
	}
	speed := compare(fmt.Sprintf("%d PVCs due at once: snapshots a second", b.claims), "%.0f", "/s", rate)
	speed.Ratio = fmt.Sprintf("%.0f %%", 100*ratio(rate))
	b.row(speed.AtLeast(ratio(rate), 0.9, "90 %"))
	cost := compare("CPU of the client per snapshot", "%.2f", "ms", cpu)
	cost.Ratio = fmt.Sprintf("%.2f ×", ratio(cpu))
	b.row(cost.AtMost(ratio(cpu), 1.5, "1.5 ×"))
	load := compare("CPU of kube-apiserver and etcd per snapshot", "%.2f", "ms", server)
	load.Ratio = fmt.Sprintf("%.2f ×", ratio(server))
	b.row(load)
	begin := compare("from the trigger to the first snapshot", "%.0f", "ms", first)
	b.row(begin)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }
