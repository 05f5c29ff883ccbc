// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/logtail"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
)

const (
	readyTimeout = time.Minute
	portAttempts = 3
)

// start starts a component and waits until it is ready. If another process took its
// port first, start tries other ports.
func (c *Cluster) start(ctx context.Context, def definition) error {
	log := c.Dir.Log(def.name)
	for attempt := 1; ; attempt++ {
		err := c.startOnce(ctx, def)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		portTaken := strings.Contains(strings.Join(logtail.Lines(log, 50), "\n"), "address already in use")
		if !portTaken || attempt == portAttempts {
			return fmt.Errorf("%s: %w%s", def.name, err, logtail.Quote(log, 20))
		}
	}
}

func (c *Cluster) startOnce(ctx context.Context, def definition) error {
	ports, err := freePorts(def.ports)
	if err != nil {
		return err
	}
	if def.prepare != nil {
		if err := def.prepare(c, ports); err != nil {
			return err
		}
	}
	p, err := c.startProcess(def, ports)
	if err != nil {
		return err
	}
	url, probe := def.probe(c, ports), newProber(c.Dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.Done:
			cancel()
		case <-ctx.Done():
		}
	}()
	err = poll(ctx, readyTimeout, func(ctx context.Context) error { return probe.check(ctx, url) })
	select {
	case <-p.Done:
		if p.Err == nil {
			return errors.New("exited unexpectedly")
		}
		return fmt.Errorf("exited unexpectedly: %w", p.Err)
	default:
	}
	if err != nil {
		_ = p.Stop(time.Second)
	}
	return err
}

// startProcess starts a component's process and records it.
func (c *Cluster) startProcess(def definition, ports []int) (*proc.Process, error) {
	p, err := proc.Start(proc.Command{
		Name: def.name, Path: filepath.Join(c.State.Bin, def.name), Args: def.args(c, ports),
		Dir: string(c.Dir), Log: c.Dir.Log(def.name), DieWithParent: c.attached,
	})
	if err != nil {
		return nil, err
	}
	component := Component{Name: def.name, Probe: def.probe(c, ports)}
	if len(ports) > 0 {
		component.Port = ports[0]
	}
	return p, c.record(p, component)
}

// record saves a process in the state at once, so that any later run of this program
// can stop it. If it cannot be saved, the process is stopped.
func (c *Cluster) record(p *proc.Process, component Component) error {
	component.Identity = p.Identity
	c.procs[component.Name] = p
	c.State.set(component)
	if err := c.save(); err != nil {
		return errors.Join(err, p.Stop(time.Second))
	}
	return nil
}

// freePorts returns loopback ports on which nothing listens. It holds all of them
// open until the last is found, so that they differ.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
