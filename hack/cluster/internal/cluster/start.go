// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/logtail"
)

const (
	readyDeadline = time.Minute
	portTries     = 3
)

// bring starts a part and waits until it is ready. If somebody took its port
// in between, it is started again on another.
func (c *Cluster) bring(ctx context.Context, def definition) error {
	for try := 1; ; try++ {
		err := c.tryBring(ctx, def)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if try < portTries && portTaken(c.Dir.Log(def.name)) {
			continue
		}
		return fmt.Errorf("%s: %w\n  the last lines of %s:\n%s", def.name, err, c.Dir.Log(def.name), logtail.Indented(c.Dir.Log(def.name), 20))
	}
}

func (c *Cluster) tryBring(ctx context.Context, def definition) error {
	ports, err := freePorts(def.ports)
	if err != nil {
		return err
	}
	if def.setup != nil {
		if err := def.setup(c, ports); err != nil {
			return err
		}
	}
	p, err := c.launch(def, ports)
	if err != nil {
		return err
	}
	address, probe := def.probe(c, ports), newProber(c.Dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.Done:
			cancel()
		case <-ctx.Done():
		}
	}()
	err = until(ctx, readyDeadline, func(ctx context.Context) error { return probe.check(ctx, address) })
	select {
	case <-p.Done:
		return endedByItself(p)
	default:
	}
	if err != nil {
		_ = p.Stop(time.Second)
	}
	return err
}

func endedByItself(p *proc.Process) error {
	if p.Err == nil {
		return errors.New("ended by itself")
	}
	return fmt.Errorf("ended by itself: %w", p.Err)
}

// launch starts the process and records it at once.
func (c *Cluster) launch(def definition, ports []int) (*proc.Process, error) {
	p, err := proc.Start(proc.Command{
		Name: def.name, Path: filepath.Join(c.State.Bin, def.name), Args: def.args(c, ports),
		Dir: string(c.Dir), Log: c.Dir.Log(def.name), DieWithParent: c.attached,
	})
	if err != nil {
		return nil, err
	}
	part := Part{Name: def.name, Ref: p.Ref, Probe: def.probe(c, ports), Log: c.Dir.Log(def.name), Started: time.Now()}
	if len(ports) > 0 {
		part.Port = ports[0]
	}
	c.procs[def.name] = p
	c.State.set(part)
	if err := c.save(); err != nil {
		_ = p.Stop(time.Second)
		return nil, err
	}
	return p, nil
}

// portTaken looks for what all these programs say when they cannot listen.
func portTaken(log string) bool {
	return strings.Contains(strings.Join(logtail.Lines(log, 50), "\n"), "address already in use")
}
