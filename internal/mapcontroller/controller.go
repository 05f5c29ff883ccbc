// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/execute"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/installed"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/lookup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/queue"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/status"
)

// Dependencies are what a Controller takes from a manager.
type Dependencies struct {
	// Client writes, Live reads; neither through a cache.
	Client client.Client
	Live   client.Reader
	Scheme *runtime.Scheme
	// Discovery tells which kinds are installed.
	Discovery discovery.ServerResourcesInterface
}

// Controller is a MapController with its dependencies, but without queues,
// watches and workers. SetupWithManager adds those, and SetupWith those of another Host.
type Controller struct {
	spec    *MapController
	options Options
	log     logr.Logger

	kinds *plan.Kinds
	// parentKind is an empty parent, which selects the store of parents.
	parentKind client.Object
	lookup     *lookup.Objects
	steady     lookup.Steady

	attempts *queue.Attempts
	// shares are of the workers of keys, statusShares of those of statuses.
	shares       *queue.Shares[Request]
	statusShares *queue.Shares[reconcile.Request]
	executor     *execute.Executor
	guard        *guard.Guard
	aggregator   *status.Aggregator
	writer       *status.Writer
	installed    *installed.Kinds
	// programs holds the compiled spec of each parent, a compiledParent, for as long as
	// the informers hold the same objects.
	programs sync.Map
	// changed receives parents one of whose keys changed.
	changed queue.Late[reconcile.Request]
	// keys receives keys that no event enqueues.
	keys queue.Late[Request]
}

// New returns a Controller. It returns an error that names what is missing or
// contradictory; nothing panics later for want of a setting.
func (c MapController) New(d Dependencies, o Options) (*Controller, error) {
	spec, err := c.withDefaults()
	o, invalid := o.withDefaults()
	if err = errors.Join(err, invalid); err == nil && (d.Client == nil || d.Live == nil || d.Scheme == nil || d.Discovery == nil) {
		err = errors.New("a dependency is missing: Client, Live, Scheme and Discovery must be set")
	}
	var kinds *plan.Kinds
	if err == nil {
		kinds, err = spec.kinds(d.Scheme, spec.NewParent())
	}
	if err == nil && spec.Status.OfParent == nil {
		err = status.SetGeneric(spec.NewParent(), *status.NewSummary(kinds))
		spec.Status.OfParent = func(_ time.Time, parent client.Object, s Summary) { _ = status.SetGeneric(parent, s) }
	}
	if err != nil {
		return nil, fmt.Errorf("map controller %q: %w", c.Name, err)
	}
	ctl := &Controller{
		spec: spec, options: o, log: logf.Log.WithValues("controller", spec.Name), kinds: kinds, parentKind: spec.NewParent(),
		lookup:   lookup.New(spec.Name, kinds, spec.NewParent(), spec.ClusterScoped, o.Stores),
		attempts: queue.NewAttempts(o.Clock),
	}
	ctl.installed = installed.New(installed.Settings{
		Needed: kinds.Needed, Optional: kinds.Optional, Back: ctl.kindsBack,
		Discovery: d.Discovery, Live: d.Live, Namespaces: o.Namespaces, Interval: o.KindsInterval,
	})
	ctl.steady.After = spec.SteadyAfter
	pace := queue.NewPace(o.Clock, o.DeletesPerSecond)
	pace.Wake = ctl.keys.Add
	ctl.shares = &queue.Shares[Request]{Workers: o.Workers, Patience: time.Second, Wake: ctl.keys.Add}
	ctl.statusShares = &queue.Shares[reconcile.Request]{
		Workers: o.Workers, Patience: time.Second, Wake: func(parent reconcile.Request) { ctl.changed.AddAfter(parent, 0) },
	}
	o.Stores.OnList(func(example runtime.Object, err error) {
		if listed, ok := example.(client.Object); ok {
			ctl.installed.Listed(kinds.Of(listed), err)
		}
	})
	// The delay gathers changes that come together.
	ctl.changed.After = min(o.StatusInterval/10, time.Second/2)
	ctl.guard = &guard.Guard{
		Live: d.Live, Clock: o.Clock, MaxClockSkew: o.MaxClockSkew, Concurrency: min(o.Workers, 16), Kinds: kinds,
		NewParent: spec.NewParent, Compile: ctl.compile, Governors: ctl.governors,
	}
	ctl.lookup.Decided = func(parent client.Object) client.Object { return ctl.compiled(parent).Object }
	writes := client.WithFieldOwner(d.Client, spec.Name)
	ctl.executor = &execute.Executor{
		Client: writes, Clock: o.Clock, Kinds: kinds, Guard: ctl.guard, Attempts: ctl.attempts, Pace: pace, KindMissing: ctl.installed.Suspect,
		Finalizer: spec.Release.Finalizer, Lingers: spec.Release.Lingers, Missing: ctl.installed.Explains, MayCreate: spec.Gate,
	}
	if spec.Connect != nil {
		spec.Connect(Access{
			Enqueue: ctl.keys.AddAfter, Outputs: ctl.outputsOf, MadeFrom: ctl.lookup.MadeFrom, KeyOf: ctl.lookup.Request,
			Parent: func(name types.NamespacedName) client.Object {
				p, _ := ctl.parent(name)
				return p.Object
			},
			Spec: func(name types.NamespacedName) any {
				if p, _ := ctl.parent(name); p.Program != nil {
					return p.Program.Spec
				}
				return nil
			},
			WakeStatus: func(parent types.NamespacedName, after time.Duration) {
				ctl.changed.AddAfter(reconcile.Request{NamespacedName: parent}, after)
			},
		})
	}
	ctl.aggregator = &status.Aggregator{Changed: func(parent types.NamespacedName) {
		ctl.changed.Add(reconcile.Request{NamespacedName: parent})
	}}
	ctl.writer = &status.Writer{
		Client: writes, Live: d.Live, Clock: o.Clock, Kinds: kinds,
		Interval: o.StatusInterval, Timeout: execute.RequestTimeout, Recording: spec.Status.Recording,
		Aggregator: ctl.aggregator, Missing: ctl.installed.Missing, Set: spec.Status.OfParent, Written: spec.Status.Written,
		Unseen:     func() bool { return len(ctl.installed.MissingOptional()) > 0 },
		ServerTime: ctl.guard.ServerTime, Unwritten: spec.Status.Unwritten,
	}
	return ctl, nil
}

// governors returns what the cache has of the objects that decide about a parent's spec.
func (c *Controller) governors(parent client.Object) []client.Object {
	if c.spec.Governors == nil {
		return nil
	}
	return c.spec.Governors(parent)
}

// compile compiles a parent as it was read, with its governors.
func (c *Controller) compile(parent client.Object, governors []client.Object) plan.Parent {
	program, err := c.programOf(parent, governors)
	if errs := validation.IsValidLabelValue(parent.GetName()); len(errs) > 0 {
		err = fmt.Errorf("metadata.name cannot be the label of an output: %s", errs[0])
	}
	if err == nil && program.Map == nil {
		err = errors.New("the compiled spec has no Map")
	}
	if err == nil && program.Selects == nil {
		program.Selects, err = selector(parent)
	}
	if err != nil {
		return plan.Parent{Object: parent, Read: parent, Invalid: err}
	}
	return plan.Parent{Object: cmp.Or(program.Parent, parent), Read: parent, Program: &program}
}

// programOf calls Compile. A spec with which it panics is invalid.
func (c *Controller) programOf(parent client.Object, governors []client.Object) (program plan.Program, err error) {
	defer func() {
		if value := recover(); value != nil {
			program, err = plan.Program{}, plan.NewPanicError(value)
		}
	}()
	return c.spec.Compile(parent, governors...)
}

// parent returns a parent as the cache has it, compiled; not ok if there is none.
func (c *Controller) parent(name types.NamespacedName) (p plan.Parent, ok bool) {
	if o := c.lookup.Parent(name); o != nil {
		return c.compiled(o), true
	}
	return p, false
}

// compiledParent is a parent with its compiled spec, and what it was compiled from.
type compiledParent struct {
	parent    plan.Parent
	governors []client.Object
}

// compiled returns a parent with its compiled spec, which is valid while the informers hold the
// same objects. A version of which only the status differs is compiled again: decisions may read
// all of a parent, as those about snapshots read status.retention, and after a restore of etcd
// another spec may have the UID and the generation. That costs less than the write of the
// status before it, and happens once in a StatusInterval.
func (c *Controller) compiled(o client.Object) plan.Parent {
	name := client.ObjectKeyFromObject(o)
	governors := c.governors(o)
	known, ok := c.programs.Load(name)
	before, _ := known.(compiledParent)
	if ok && before.parent.Read == o && slices.Equal(before.governors, governors) {
		return before.parent
	}
	p := c.compile(o, governors)
	if invalid := p.Invalid; invalid != nil && (!ok || !sameError(before.parent.Invalid, invalid)) {
		c.log.Error(invalid, "Invalid spec", append(where(invalid), "namespace", o.GetNamespace(), "name", o.GetName())...)
	}
	c.programs.Store(name, compiledParent{p, governors})
	return p
}

func sameError(a, b error) bool { return a != nil && b != nil && a.Error() == b.Error() }

// where returns where a user's function panicked, for a log.
func where(err error) (keysAndValues []any) {
	if err == nil { // as always: what errors.As looks for is allocated
		return nil
	}
	if panicked := (*plan.PanicError)(nil); errors.As(err, &panicked) {
		keysAndValues = append(keysAndValues, "stack", string(panicked.Stack))
	}
	return keysAndValues
}

// forget drops everything that is remembered of a parent, but for the state of
// its keys, which is dropped when the keys are reconciled. It is called only where
// the order of events is known: a pass that finds no parent may be late, and must
// not drop the keys of a parent that was created again under the name.
func (c *Controller) forget(parent client.Object) {
	name := client.ObjectKeyFromObject(parent)
	c.aggregator.Forget(name, parent.GetUID())
	c.programs.Delete(name)
	c.parentDeleted(name)
}

// parentDeleted drops what a pass may have left behind after a parent was deleted.
func (c *Controller) parentDeleted(name types.NamespacedName) {
	c.writer.Forget(name)
	c.executor.ForgetParent(name)
	c.steady.ForgetParent(name)
	if c.spec.ParentDeleted != nil {
		c.spec.ParentDeleted(name)
	}
}

// outputsOf implements Access.Outputs.
func (c *Controller) outputsOf(req Request) []client.Object {
	if parent := c.lookup.Parent(req.Parent); parent != nil {
		return c.lookup.Outputs(parent, req.MapKey)
	}
	return nil
}
