// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/enginetest/mutationdetector"
	wire "mapcontroller.dev/snapshotschedule/internal/transport"
)

// This file and grouped_test.go are the only ones that use the engine's API. The specs use the types below.

const (
	keyLabel    = "enginetest.mapcontroller.dev/key"
	parentLabel = "enginetest.mapcontroller.dev/bucket"
)

var (
	errAdoptionRefused = mapcontroller.ErrAdoptionRefused
	errNameCollision   = mapcontroller.ErrNameCollision
)

// observation is the argument of Map and Tombstone.
type observation struct {
	Now    time.Time
	Parent *Bucket
	// Input is nil in a Tombstone if it was deleted.
	Input   client.Object
	Outputs []client.Object
}

// decision is the result of Map and Tombstone.
type decision struct {
	Outputs  []client.Object
	Evidence []client.Object
	Next     time.Time
}

// inputKind and outputKind are the kinds of a program.
type inputKind struct {
	Object   client.Object
	Resource string
}

type outputKind struct {
	Object   client.Object
	Resource string
	Update   bool
	// Covers returns whether an object without a controller makes the desired one unnecessary.
	Covers func(desired, existing client.Object) bool
}

// program is what the engine runs in these tests. Specs change it before they start the operator.
type program struct {
	Inputs    []inputKind
	Outputs   []outputKind
	Map       func(observation) decision
	Tombstone func(observation) decision
	MapKey    func(client.Object) string
	Finalizer string
	ByLabels  func(*Bucket) bool
	// change changes what the rest describes.
	change func(*mapcontroller.MapController)
	// forgetsInformers is set if the manager's cache is made without the stores.
	forgetsInformers bool

	StatusInterval   time.Duration
	DeletesPerSecond float64
}

func newProgram() *program {
	return &program{
		Inputs: []inputKind{
			{Object: &corev1.ConfigMap{}, Resource: "configmaps"},
			{Object: &corev1.Secret{}, Resource: "secrets"},
		},
		Outputs: []outputKind{
			{Object: &Widget{}, Resource: "widgets"},
			{Object: &corev1.ConfigMap{}, Resource: "configmaps", Update: true},
		},
		Map:            func(o observation) decision { return desire(widgetFor(o)) },
		StatusInterval: 200 * time.Millisecond,
	}
}

// keyStatus is the status of one key.
type keyStatus struct{ paused int }

// newManager returns a manager with one engine, which runs the operator's program in the operator's namespace, or why the engine cannot
// be set up.
func newManager(o *operator) (manager.Manager, error) {
	GinkgoHelper()
	realClock := clock.RealClock{}
	wrapped := rest.CopyConfig(restConfig)
	wrapped.Wrap(func(base http.RoundTripper) http.RoundTripper {
		o.base = base
		return wire.ServerClock{Base: o.transport, Clock: realClock}
	})
	options := mapcontroller.Options{
		Workers:          8,
		StatusInterval:   o.program.StatusInterval,
		DeletesPerSecond: o.program.DeletesPerSecond,
		MaxClockSkew:     time.Minute,
		KindsInterval:    200 * time.Millisecond,
		Clock:            clock.RealClock{},
		Stores:           informer.NewStores(),
	}
	cached := cache.Options{DefaultNamespaces: map[string]cache.Config{o.namespace: {}}, ByObject: o.cached}
	if !o.program.forgetsInformers {
		cached.NewInformer = options.Stores.NewInformer
	}
	m, err := manager.New(wrapped, manager.Options{
		Scheme:                 newScheme(),
		Cache:                  cached,
		NewCache:               mutationdetector.NewCache,
		NewClient:              wire.NewClient,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Controller:             config.Controller{SkipNameValidation: new(true), CacheSyncTimeout: 200 * time.Millisecond},
	})
	Expect(err).NotTo(HaveOccurred())
	return m, o.mapController().SetupWithManager(m, options)
}

// mapController returns the operator's program as the engine's API has it.
func (o *operator) mapController() *mapcontroller.MapController {
	c := &mapcontroller.MapController{
		Name:      "enginetest",
		Ownership: mapcontroller.Ownership{Tags: mapcontroller.Tags{MapKey: keyLabel, Parent: parentLabel}},
		NewParent: func() client.Object { return &Bucket{} },
		Release:   mapcontroller.Release{Finalizer: o.program.Finalizer},
		Compile:   o.compile,
		Status: mapcontroller.Status{
			OfKey: func(_ client.Object, _ string, _, _ any, outcome mapcontroller.Outcome) any {
				for _, f := range outcome.Failed {
					o.recordFailure(failure{verb: string(f.Verb), err: f.Err})
				}
				if outcome.Paused != nil {
					o.recordPause()
					return keyStatus{paused: 1}
				}
				return nil
			},
			OfParent: setStatus,
			// Buckets have no conditions. Their missing kinds are written while nothing else is known.
			Recording: mapcontroller.Recording{
				Field: "missing", IsDue: func(time.Time, client.Object, mapcontroller.Summary) bool { return false },
			},
		},
	}
	if o.program.MapKey != nil {
		c.MapKey = func(input metav1.Object) string { return o.program.MapKey(input.(client.Object)) }
	}
	if o.program.ByLabels != nil {
		c.Ownership.OwnsByLabels = func(parent client.Object) bool { return o.program.ByLabels(parent.(*Bucket)) }
	}
	for _, k := range o.program.Inputs {
		c.Inputs = append(c.Inputs, mapcontroller.Input{Object: k.Object, Resource: k.Resource})
	}
	for _, k := range o.program.Outputs {
		out := mapcontroller.Output{Object: k.Object, Resource: k.Resource, Covers: k.Covers}
		if k.Update {
			out.Update = func(observed, desired client.Object) {
				observed.(*corev1.ConfigMap).Data = desired.(*corev1.ConfigMap).Data
			}
		}
		c.Outputs = append(c.Outputs, out)
	}
	if o.program.change != nil {
		o.program.change(c)
	}
	return c
}

// compile leaves the selector to the engine.
func (o *operator) compile(parent client.Object, _ ...client.Object) (mapcontroller.Program, error) {
	b := parent.(*Bucket)
	if b.Spec.Invalid {
		return mapcontroller.Program{}, errors.New("spec.invalid is set")
	}
	run := func(decide func(observation) decision, seen mapcontroller.Observation, inputs []client.Object) mapcontroller.Decision {
		in := observation{Now: seen.Now, Parent: b, Outputs: seen.Outputs}
		if len(inputs) > 0 {
			in.Input = inputs[0]
		}
		return explicit(decide(in), seen.Outputs)
	}
	p := mapcontroller.Program{Map: func(seen mapcontroller.Observation) mapcontroller.Decision {
		o.recordMap(b.Name + "/" + seen.Selected[0].GetName())
		return run(o.program.Map, seen, seen.Selected)
	}}
	if o.program.Tombstone != nil {
		p.Tombstone = func(seen mapcontroller.Observation) mapcontroller.Decision {
			return run(o.program.Tombstone, seen, seen.Unselected)
		}
	}
	return p, nil
}

// explicit turns the outputs that a spec wants into what to ensure and what to delete.
func explicit(d decision, observed []client.Object) mapcontroller.Decision {
	e := mapcontroller.Decision{Evidence: d.Evidence, Next: d.Next}
	kept := map[string]bool{}
	for _, want := range d.Outputs {
		kept[want.GetName()] = true
		if !slices.Contains(observed, want) {
			e.Ensure = append(e.Ensure, mapcontroller.Desired{Object: want})
		}
	}
	for _, o := range observed {
		if !kept[o.GetName()] {
			e.Delete = append(e.Delete, mapcontroller.Removal{Object: o, Reason: "NotDesired"})
		}
	}
	return e
}

func setStatus(_ time.Time, parent client.Object, s mapcontroller.Summary) {
	b := parent.(*Bucket)
	if s.Settled {
		b.Status.ObservedGeneration = b.Generation
	}
	b.Status.Missing = s.Missing
	if s.Invalid != nil {
		b.Status.Invalid = s.Invalid.Error()
	}
	if s.Totals == nil {
		return
	}
	if s.Invalid == nil {
		b.Status.Invalid = ""
	}
	b.Status.Inputs, b.Status.Outputs = map[string]int{}, map[string]map[string]int{}
	for path, n := range s.Totals {
		switch field := strings.Split(path, "."); field[0] {
		case "inputs":
			b.Status.Inputs[field[1]] = n
		case "outputs":
			if b.Status.Outputs[field[1]] == nil {
				b.Status.Outputs[field[1]] = map[string]int{}
			}
			b.Status.Outputs[field[1]][field[2]] = n
		}
	}
	b.Status.DetachedKeys, b.Status.Paused = s.Totals["detached.mapKeys"], 0
	for _, key := range s.Keys {
		b.Status.Paused += key.(keyStatus).paused
	}
}
