// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/build"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/filelock"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/proc"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/progress"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// Cluster is one that this run of the program brought up, or found up.
type Cluster struct {
	Dir   Dir
	State *State
	// Found is set when it was up and healthy already.
	Found bool

	attached bool
	procs    map[string]*proc.Process
	keys     *keys
	etcd     string
	socket   string
	// inside is set in the program that is inside the node.
	inside *Inside
}

// Options say what to bring up.
type Options struct {
	Dir   Dir
	Cache *build.Cache
	CSI   bool
	// Node has the cluster run pods, in namespaces of its own.
	Node bool
	// Attached has the processes die with this program.
	Attached bool
	Out      build.Output
}

type step struct {
	name, verb string
	do         func(context.Context) error
}

// Up brings a cluster up, from nothing. When it fails, or ctx ends, whatever
// it started has been stopped again.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	if err := o.Dir.prepare(); err != nil {
		return nil, err
	}
	release, err := filelock.Acquire(ctx, o.Dir.lock(), func() {
		_, _ = fmt.Fprintf(o.Out.W, "waiting for another run that brings up or down the cluster in %s\n", o.Dir)
	})
	if err != nil {
		return nil, err
	}
	defer release()
	if found, err := findUp(ctx, o); found != nil || err != nil {
		return found, err
	}
	c := &Cluster{
		Dir: o.Dir, attached: o.Attached, procs: map[string]*proc.Process{},
		State: &State{
			Recipe: filepath.Base(o.Cache.Root), Bin: o.Cache.Bin(), CSI: o.CSI, Node: o.Node,
			Kubeconfig: o.Dir.Kubeconfig(), Started: time.Now(),
		},
	}
	bring := c.bringAll
	if o.Node {
		bring = c.bringNode
	}
	if err := bring(ctx, o.Out); err != nil {
		return nil, err
	}
	return c, nil
}

// bringAll takes the steps one after another, and all of them back if one fails.
func (c *Cluster) bringAll(ctx context.Context, out build.Output) (err error) {
	// Deferred, not called on error only: a panic must leave nothing either.
	defer func() {
		if !c.State.Ready && c.inside == nil {
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
	if err := c.save(); err != nil {
		c.State.Ready = false
		return err
	}
	return nil
}

// save records the state for other runs of this program. Inside the node
// process numbers mean nothing to them.
func (c *Cluster) save() error {
	if c.inside != nil {
		return nil
	}
	return c.State.save(c.Dir)
}

// findUp gives the cluster that is up already, and clears away one that is
// only half there.
func findUp(ctx context.Context, o Options) (*Cluster, error) {
	s, err := Load(o.Dir)
	if errors.Is(err, ErrNoCluster) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	report := Check(ctx, o.Dir, s)
	if !report.Healthy {
		_, _ = fmt.Fprintf(o.Out.W, "the cluster in %s is not healthy (%s); starting it anew\n", o.Dir, report.Reason())
		return nil, stopAll(o.Dir, s)
	}
	if s.CSI != o.CSI {
		with := map[bool]string{true: "with", false: "without"}
		return nil, fmt.Errorf("the cluster in %s is up %s the snapshot stack; run down first", o.Dir, with[s.CSI])
	}
	if s.Node != o.Node {
		with := map[bool]string{true: "with", false: "without"}
		return nil, fmt.Errorf("the cluster in %s is up %s a node; run down first", o.Dir, with[s.Node])
	}
	if s.Recipe != filepath.Base(o.Cache.Root) {
		_, _ = fmt.Fprintf(o.Out.W, "note: the cluster in %s runs other versions than today's; down and up renews it\n", o.Dir)
	}
	return &Cluster{Dir: o.Dir, State: s, Found: true}, nil
}

// steps are in the order of need: what a part talks to is ready before it.
func (c *Cluster) steps() []step {
	part := func(d definition) step {
		return step{d.name, "starting", func(ctx context.Context) error { return c.bring(ctx, d) }}
	}
	steps := []step{
		{"certificates", "making", c.prepare},
		part(etcd), part(apiserver), part(controllerManager),
	}
	if c.inside != nil {
		steps = append(steps,
			part(containerd), step{"pause image", "loading", c.loadPause},
			part(scheduler), part(kubelet), part(kubeProxy),
			step{"node", "waiting for", func(ctx context.Context) error { return c.withAPI(func(a *api) error { return a.nodeReady(ctx) }) }},
		)
	}
	if !c.State.CSI {
		return steps
	}
	return append(steps,
		step{"snapshot CRDs", "applying", func(ctx context.Context) error {
			return c.withAPI(func(a *api) error { return a.applyCRDs(ctx, filepath.Join(c.State.Bin, recipe.CRDs)) })
		}},
		part(mockCSI), part(snapshotController), part(csiSnapshotter), part(csiProvisioner),
		step{"default classes", "applying", func(ctx context.Context) error {
			return c.withAPI(func(a *api) error { return a.applyClasses(ctx) })
		}},
	)
}

func (c *Cluster) prepare(context.Context) (err error) {
	var also []net.IP
	if c.inside == nil {
		err = c.clean()
	} else {
		also = []net.IP{net.ParseIP(node.IP), net.ParseIP(node.ServiceIP)}
	}
	if err != nil {
		return err
	}
	if c.keys, err = writeKeys(c.Dir, also...); err != nil {
		return err
	}
	return writeAuditPolicy(c.Dir)
}

// clean makes the folder as that of a cluster that never was.
func (c *Cluster) clean() (err error) {
	if err := errors.Join(c.Dir.clear(), c.Dir.freshLogs()); err != nil {
		return err
	}
	c.socket, c.State.SocketDir, err = c.Dir.socket()
	return err
}

func (c *Cluster) withAPI(do func(*api) error) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	return do(a)
}

// Died delivers the name of the first part that ends, until ctx does.
func (c *Cluster) Died(ctx context.Context) <-chan string {
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
