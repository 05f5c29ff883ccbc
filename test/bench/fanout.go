// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/bareclient"
)

// workers is the number of concurrent creates: the operator's in one namespace.
const workers = 32

// burst is one client creating a snapshot of each PVC.
type burst struct {
	task
	// normalized is what was created.
	normalized string
}

// fanOut lets the operator and the bare client create the same snapshots, in turns.
func fanOut(ctx context.Context, b *bench) {
	bareSet := b.newDataset(ctx, "fan-out-bare", 0, false)
	operatorSet := b.newDataset(ctx, "fan-out-full", 0, false)
	var bares, operators []burst
	n := float64(b.claims)
	for round := range b.rounds {
		turns := []func(){
			func() { bares = append(bares, b.turn(ctx, bareSet, b.bareBurst)) },
			func() { operators = append(operators, b.turn(ctx, operatorSet, b.operatorBurst)) },
		}
		if round%2 == 1 { // the first of a round is the second of the next
			slices.Reverse(turns)
		}
		for _, turn := range turns {
			turn()
		}
		bare, operator := bares[round], operators[round]
		b.progressf("round %d of %d: bare %s with %s CPU each, operator %s with %s", round+1, b.rounds,
			text("/s", bare.rate), text("sec", bare.cpu/n), text("/s", operator.rate), text("sec", operator.cpu/n))
		if bare.normalized != operator.normalized {
			must(fmt.Errorf("the operator and the bare client create different objects, so they can't be compared:\n%s\n%s",
				operator.normalized, bare.normalized))
		}
	}
	compare := func(what, unit string, of func(burst) float64) *figure {
		return b.result.compare(what, unit, each(operators, of), each(bares, of))
	}
	compare(fmt.Sprintf("%d PVCs due at once: snapshots a second", b.claims), "/s", func(one burst) float64 { return one.rate }).must("≥", 0.9)
	compare("CPU of the client per snapshot", "sec", func(one burst) float64 { return one.cpu / n }).must("≤", 1.5)
	compare("CPU of kube-apiserver and etcd per snapshot", "sec", func(one burst) float64 { return one.server / n })
	compare("from the trigger to the first snapshot", "sec", func(one burst) float64 { return one.first })
}

func each[T any](all []T, of func(T) float64) (values []float64) {
	for _, one := range all {
		values = append(values, of(one))
	}
	return values
}

// turn writes new PVCs, lets a client create snapshots of them, and removes all.
func (b *bench) turn(ctx context.Context, d *dataset, run func(context.Context, *dataset) task) burst {
	d.now = time.Now()
	d.fill(ctx, b.claims)
	one := burst{task: run(ctx, d), normalized: d.server.normalized(ctx, d.schedule.Namespace)}
	d.server.clear(ctx, d.schedule.Namespace)
	return one
}

func (b *bench) bareBurst(ctx context.Context, d *dataset) task {
	d.schedule.UID = types.UID("0b0e7a4e-0f7f-4a57-8d0c-6f4f4d3c2b1a")
	c := b.startBare(ctx, bareclient.Creates(bareclient.Job{Owner: d.schedule, Slot: d.now, Claims: b.claims, Workers: workers})...)
	defer b.stop(c)
	must(c.Expect(bareclient.Ready))
	c.waitIdle(ctx)
	return d.do(ctx, c, watch.Added, b.claims, func() { must(c.Send(bareclient.Go)) },
		func(context.Context) { must(c.Expect(bareclient.Done)) })
}

func (b *bench) operatorBurst(ctx context.Context, d *dataset) task {
	o := b.startOperator(ctx)
	defer b.stop(o)
	return d.do(ctx, o, watch.Added, b.claims, func() { d.create(ctx) }, func(ctx context.Context) { d.counted(ctx, b.claims, d.schedule) })
}
