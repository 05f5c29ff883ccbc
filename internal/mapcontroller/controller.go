// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/execute"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/observe"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/status"
)

// Dependencies are what a Controller takes from a manager.
type Dependencies struct {
	// Client writes, Live reads; neither through a cache.
	Client client.Client
	Live   client.Reader
	// Create creates an output. Nil: the Client does.
	Create func(context.Context, client.Object) error
	Scheme *runtime.Scheme
	// Discovery tells which kinds are installed.
	Discovery discovery.ServerResourcesInterface
}

// Controller is a MapController with its dependencies, but without queues,
// watches and workers. A program adds those with SetupWithManager; a simulation
// drives a Controller one step at a time.
type Controller struct {
	*MapController
	Options

	rules      *plan.Rules
	observer   *observe.Observer
	attempts   *execute.Attempts
	executor   *execute.Executor
	guard      *guard.Guard
	aggregator *status.Aggregator
	writer     *status.Writer
	finalizer  *execute.Finalizer
	kinds      *kinds
	programs   programs
	// changed receives parents one of whose keys changed.
	changed *lateQueue[reconcile.Request]
	// released receives outputs that may have lost their map key.
	released *lateQueue[execute.Release]
}

// New returns a Controller. It returns an error that names what is missing or
// contradictory; nothing panics later for want of a setting.
func (c MapController) New(d Dependencies, o Options) (*Controller, error) {
	spec, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	if o, err = o.withDefaults(); err != nil {
		return nil, fmt.Errorf("map controller %q: %w", c.Name, err)
	}
	if d.Client == nil || d.Live == nil || d.Scheme == nil || d.Discovery == nil {
		return nil, fmt.Errorf("map controller %q: Client, Live, Scheme and Discovery must be set", c.Name)
	}
	rules, err := plan.NewRules(d.Scheme, spec.NewParent(), spec.Tags, spec.Inputs, spec.Outputs)
	if err != nil {
		return nil, fmt.Errorf("map controller %q: %w", c.Name, err)
	}
	if d.Create == nil {
		d.Create = func(ctx context.Context, output client.Object) error {
			return d.Client.Create(ctx, output, client.FieldOwner(spec.Name))
		}
	}
	observer := observe.New(spec.Name, o.Stores, rules, spec.NewParent(), spec.ClusterScoped, spec.MapKey)
	ctl := &Controller{
		MapController: spec,
		Options:       o,
		rules:         rules,
		observer:      observer,
		attempts:      execute.NewAttempts(o.Clock, o.DeletesPerSecond),
		// The delay gathers changes that come together.
		changed:  &lateQueue[reconcile.Request]{after: min(o.StatusInterval/10, time.Second/2)},
		released: &lateQueue[execute.Release]{},
		kinds:    newKinds(d.Discovery, rules),
		programs: programs{known: map[types.NamespacedName]plan.Parent{}},
	}
	ctl.guard = &guard.Guard{
		Live: d.Live, Clock: o.Clock, MaxClockSkew: o.MaxClockSkew, Rules: rules, Observer: observer,
		NewParent: spec.NewParent, Compile: ctl.compile,
	}
	ctl.executor = &execute.Executor{
		Name: spec.Name, Client: d.Client, Create: d.Create, Workers: o.Workers, Clock: o.Clock, Rules: rules,
		Guard: ctl.guard, Attempts: ctl.attempts, KindMissing: ctl.kinds.suspectMissing,
	}
	ctl.aggregator = &status.Aggregator{Changed: func(parent types.NamespacedName) {
		ctl.changed.add(reconcile.Request{NamespacedName: parent})
	}}
	ctl.writer = &status.Writer{
		FieldManager: spec.Name, Client: d.Client, Clock: o.Clock, Interval: o.StatusInterval, Rules: rules,
		Aggregator: ctl.aggregator, Missing: ctl.kinds.missing, Set: spec.Status,
	}
	if spec.Finalizer != "" {
		ctl.finalizer = &execute.Finalizer{
			Executor: ctl.executor, Name: spec.Finalizer, Orphan: spec.Orphan, Missing: ctl.kinds.explains,
		}
	}
	return ctl, nil
}

// InputIndexers returns the indexes that the stores of input kinds need.
func (c *Controller) InputIndexers() toolscache.Indexers { return c.observer.InputIndexers() }

// OutputIndexers returns the indexes that the stores of output kinds need.
func (c *Controller) OutputIndexers() toolscache.Indexers { return c.observer.OutputIndexers() }

// Limiter returns the rate limiter of the queue of keys.
func (c *Controller) Limiter() *execute.Attempts { return c.attempts }

// compile compiles a parent as it was read.
func (c *Controller) compile(parent client.Object) plan.Parent {
	p := plan.Parent{Object: parent}
	if errs := validation.IsValidLabelValue(parent.GetName()); len(errs) > 0 {
		p.Invalid = fmt.Errorf("metadata.name cannot be the label of an output: %s", errs[0])
		return p
	}
	program, err := c.Compile(parent)
	if err == nil && program.Map == nil {
		err = errors.New("the compiled spec has no Map")
	}
	if err == nil && program.Selects == nil {
		program.Selects, err = selector(parent)
	}
	if err != nil {
		p.Invalid = err
		return p
	}
	p.Program = &program
	return p
}

// programs holds the compiled spec of each parent for as long as the informer
// holds the same object.
type programs struct {
	mu    sync.Mutex
	known map[types.NamespacedName]plan.Parent
}

// parent returns a parent as the cache has it, compiled; not ok if there is none.
func (c *Controller) parent(name types.NamespacedName) (p plan.Parent, ok bool) {
	o := c.observer.Parent(name)
	if o == nil {
		return p, false
	}
	return c.compiled(name, o), true
}

func (c *Controller) compiled(name types.NamespacedName, o client.Object) plan.Parent {
	c.programs.mu.Lock()
	defer c.programs.mu.Unlock()
	p, known := c.programs.known[name]
	if !known || p.Object != o {
		p = c.compile(o)
		c.programs.known[name] = p
	}
	return p
}

// forget drops everything that is remembered of a parent, but for the state of
// its keys, which is dropped when the keys are reconciled. It is called only where
// the order of events is known: a pass that finds no parent may be late, and must
// not drop the keys of a parent that was created again under the name.
func (c *Controller) forget(parent client.Object) {
	name := client.ObjectKeyFromObject(parent)
	c.aggregator.Forget(name, parent.GetUID())
	c.programs.mu.Lock()
	delete(c.programs.known, name)
	c.programs.mu.Unlock()
	c.guard.Forget(name)
	c.parentDeleted(name)
}

// parentDeleted drops what a pass may have left behind after a parent was deleted.
func (c *Controller) parentDeleted(name types.NamespacedName) {
	c.writer.Forget(name)
	if c.ParentDeleted != nil {
		c.ParentDeleted(name)
	}
}
