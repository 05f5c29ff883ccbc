// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/check"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

// lost is the PVC that is deleted.
const lost = "mail"

// lose is act 4: a PVC goes, its snapshots stay until they are of age.
func (p *play) lose(ctx context.Context) error {
	p.screen.Act(4, "A PVC is deleted by mistake")
	p.screen.Say("Its snapshots are what can bring its data back: they stay until they are of age.\n")
	if r, err := p.until(ctx, patience, p.quiet); err != nil || !r.OK {
		return orVerify(p, r, err)
	}
	if err := p.kubectl(ctx, "delete", "pvc", lost, "-n", namespace); err != nil {
		return err
	}
	if err := p.await(ctx, patience, func(w record.World) check.Result { return check.Outlive(w, p.terms, lost) }); err != nil {
		return err
	}
	if err := p.await(ctx, p.terms.TTL, func(w record.World) check.Result { return check.Detached(w, 1) }); err != nil {
		return err
	}
	gone := func(w record.World) check.Result { return check.AllGone(w, lost) }
	if err := p.await(ctx, p.terms.TTL+patience, gone); err != nil {
		return err
	}
	w := p.world()
	if err := p.verify(check.Expiry(w, p.terms), check.NoneSince(w, lost)); err != nil {
		return err
	}
	return p.await(ctx, patience, func(w record.World) check.Result { return check.Detached(w, 0) })
}

// quiet is a moment when nothing is under way for the PVC that is to go, nor
// will be for some time: what is not cut when its PVC goes, goes with it.
func (p *play) quiet(w record.World) check.Result {
	live := w.Live(lost)
	r := check.Result{Name: "quiet", Expected: "the newest snapshot of " + lost + " is ready", Seen: "it is not"}
	if n := len(live); n > 0 && live[n-1].Ready {
		r.OK = w.Now.Sub(live[n-1].Slot) < p.terms.Interval/2
	}
	return r
}

func orVerify(p *play, r check.Result, err error) error {
	if err != nil {
		return err
	}
	return p.verify(r)
}

// look is act 5: what the schedule says of itself.
func (p *play) look(ctx context.Context) error {
	p.screen.Act(5, "What the schedule says of itself")
	if err := p.kubectl(ctx, "get", "snapsched", "-n", namespace); err != nil {
		return err
	}
	if s := p.world().Schedule; s != nil {
		p.screen.Print("")
		p.screen.Output(describe(s, time.Now()))
	}
	return p.await(ctx, patience, func(w record.World) check.Result { return check.Status(w, p.terms) })
}

// collect is act 6: the schedule goes, and its snapshots with it.
func (p *play) collect(ctx context.Context) error {
	p.screen.Act(6, "The schedule is deleted")
	p.screen.Say("It owns its snapshots, so garbage collection empties the bucket.\n")
	if err := p.kubectl(ctx, "delete", "snapsched", scheduleName, "-n", namespace); err != nil {
		return err
	}
	if err := p.await(ctx, patience, check.Empty); err != nil {
		return err
	}
	// Once more without the watch, as anyone would ask.
	const kinds = "volumesnapshots,volumesnapshotcontents"
	left, err := p.set.Kubectl(ctx, "get", kinds, "-A", "-o", "name")
	if err != nil {
		return err
	}
	names := strings.Fields(left)
	return p.verify(check.Result{
		Name: "bucket-empty-kubectl", Expected: "kubectl get " + kinds + " -A says so too",
		Seen: fmt.Sprintf("%d found", len(names)), OK: len(names) == 0,
	}, check.Bound(p.world(), "db", "files", "scratch"))
}

// again gives who keeps the demo all that it began with.
func (p *play) again(ctx context.Context) error {
	p.screen.Act(7, "Everything once more, to keep")
	if err := p.kubectl(ctx, "apply", "-f", claimsFile, "-f", scheduleFile); err != nil {
		return err
	}
	return p.await(ctx, patience, func(w record.World) check.Result {
		return check.Bound(w, "db", "files", "mail", "scratch")
	})
}
