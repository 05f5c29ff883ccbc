// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/logtail"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/progress"
)

// Cluster is a cluster that this process started or found running.
type Cluster struct {
	Dir   Dir
	State *State
	// AlreadyUp is set if the cluster was running and healthy before.
	AlreadyUp bool

	attached bool
	// defaultRates leaves the snapshot controllers the default rate of their requests.
	defaultRates bool
	procs        map[string]*proc.Process
	keys         *keys
	etcd         string
	socket       string
	// node is set in the process that runs inside the node.
	node *NodeConfig
}

// Options configure Up.
type Options struct {
	Dir   Dir
	Cache *build.Cache
	CSI   bool
	// Node adds a node, so that the cluster runs pods.
	Node bool
	// DefaultRates leaves the snapshot controllers the default rate of their requests. A
	// cluster with a node ignores it.
	DefaultRates bool
	// Attached makes the cluster's processes die with this one.
	Attached bool
	Out      build.Output
}

type step struct {
	name, verb string
	do         func(context.Context) error
}

// Up starts a cluster. If it fails or ctx ends, everything it started is stopped.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	if err := o.Dir.prepare(); err != nil {
		return nil, err
	}
	release, err := o.Dir.acquireLock(ctx, o.Out.W)
	if err != nil {
		return nil, err
	}
	defer release()
	if running, err := findRunning(ctx, o); running != nil || err != nil {
		return running, err
	}
	c := &Cluster{
		Dir: o.Dir, attached: o.Attached, defaultRates: o.DefaultRates, procs: map[string]*proc.Process{},
		State: &State{
			Recipe: filepath.Base(o.Cache.Root), Bin: o.Cache.Bin(), CSI: o.CSI, Node: o.Node,
			Kubeconfig: o.Dir.Kubeconfig(),
		},
	}
	start := c.startAll
	if o.Node {
		start = c.startNode
	}
	if err := start(ctx, o.Out); err != nil {
		return nil, err
	}
	return c, nil
}

// startAll runs all steps in order. If one fails, everything is stopped.
func (c *Cluster) startAll(ctx context.Context, out build.Output) (err error) {
	// Deferred so that a panic stops everything too. Inside the node, the kernel does.
	defer func() {
		if !c.State.Ready && c.node == nil {
			err = errors.Join(err, stopAll(c.Dir, c.State))
		}
	}()
	steps := c.steps()
	var names []string
	for _, s := range steps {
		names = append(names, s.name)
	}
	report := progress.New(out.W, out.Terminal, names)
	for _, s := range steps {
		p := report.Step(s.name, s.verb)
		if err := s.do(ctx); err != nil {
			if ctx.Err() != nil {
				p.Done("interrupted after")
				return ctx.Err()
			}
			p.Done("failed after")
			return err
		}
		p.Done("ok")
	}
	return c.ready()
}

func (c *Cluster) ready() error {
	c.State.Ready = true
	err := c.save()
	c.State.Ready = err == nil
	return err
}

// save writes the state. Inside the node there is nothing to write: its process IDs
// are meaningless outside.
func (c *Cluster) save() error {
	if c.node != nil {
		return nil
	}
	return c.State.save(c.Dir)
}

// findRunning returns the cluster that is already up, or nil. It stops a cluster that
// is not healthy.
func findRunning(ctx context.Context, o Options) (*Cluster, error) {
	s, err := Load(o.Dir)
	if errors.Is(err, ErrNoCluster) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	report := Check(ctx, o.Dir, s)
	if !report.Healthy {
		_, _ = fmt.Fprintf(o.Out.W, "the cluster in %s is not healthy (%s); restarting it\n", o.Dir, report.Reason())
		return nil, stopAll(o.Dir, s)
	}
	with := map[bool]string{true: "with", false: "without"}
	if s.CSI != o.CSI {
		return nil, fmt.Errorf("the cluster in %s is up %s the snapshot stack; run down first", o.Dir, with[s.CSI])
	}
	if s.Node != o.Node {
		return nil, fmt.Errorf("the cluster in %s is up %s a node; run down first", o.Dir, with[s.Node])
	}
	if s.Recipe != filepath.Base(o.Cache.Root) {
		_, _ = fmt.Fprintf(o.Out.W, "the cluster in %s runs other versions; run down and up to update it\n", o.Dir)
	}
	return &Cluster{Dir: o.Dir, State: s, AlreadyUp: true}, nil
}

// steps returns the steps in dependency order.
func (c *Cluster) steps() []step {
	start := func(d definition) step {
		return step{d.name, "starting", func(ctx context.Context) error { return c.start(ctx, d) }}
	}
	steps := []step{
		{"certificates", "creating", c.prepare},
		start(etcd), start(apiserver), start(controllerManager),
	}
	if c.node != nil {
		steps = append(steps,
			start(containerd), step{"pause image", "loading", c.loadPauseImage},
			start(scheduler), start(kubelet), start(kubeProxy),
			step{"node", "waiting for", c.waitForNode},
		)
	}
	if !c.State.CSI {
		return steps
	}
	return append(steps,
		step{"snapshot CRDs", "applying", c.applyCRDs},
		start(mockCSI), start(snapshotController), start(csiSnapshotter), start(csiProvisioner),
		step{"default classes", "applying", c.applyClasses},
	)
}

// prepare creates the files that the components need.
func (c *Cluster) prepare(context.Context) (err error) {
	var addresses []net.IP
	if c.node == nil {
		err = c.reset()
	} else {
		addresses = []net.IP{net.ParseIP(node.IP), net.ParseIP(node.ServiceIP)}
	}
	if err != nil {
		return err
	}
	if c.keys, err = writeKeys(c.Dir, addresses...); err != nil {
		return err
	}
	return writeAuditPolicy(c.Dir)
}

// reset removes what an earlier cluster left in the folder.
func (c *Cluster) reset() (err error) {
	if err := errors.Join(c.Dir.removeData(), c.Dir.resetLogs()); err != nil {
		return err
	}
	c.socket, c.State.SocketDir, err = c.Dir.socket()
	return err
}

// Exited delivers the name of the first component that exits before ctx ends.
func (c *Cluster) Exited(ctx context.Context) <-chan string {
	first := make(chan string, 1)
	for name, p := range c.procs {
		go func() {
			select {
			case <-p.Done:
				select {
				case first <- name:
				default:
				}
			case <-ctx.Done():
			}
		}()
	}
	return first
}

// ExitError returns the error for a component that exited.
func (c *Cluster) ExitError(name string) error {
	return fmt.Errorf("%s exited unexpectedly%s", name, logtail.Quote(c.Dir.Log(name), 20))
}
