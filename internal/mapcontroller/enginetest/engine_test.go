// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"errors"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/enginetest/mutationdetector"
)

// This file is the only one that uses the engine's API. The specs use the types below.

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
	Object        client.Object
	Resource      string
	UpdateInPlace bool
	// InputName returns the name of the input of an output, if the output remembers it.
	InputName func(client.Object) string
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
	Orphan    func(*Bucket) bool

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
			{Object: &corev1.ConfigMap{}, Resource: "configmaps", UpdateInPlace: true},
		},
		Map:            func(o observation) decision { return desire(widgetFor(o)) },
		StatusInterval: 200 * time.Millisecond,
	}
}

// keyStatus is the status of one key.
type keyStatus struct{ paused int }

// newManager returns a manager with one engine, which runs the operator's program in the operator's namespace.
func newManager(o *operator) manager.Manager {
	GinkgoHelper()
	realClock := clock.RealClock{}
	wrapped := rest.CopyConfig(restConfig)
	wrapped.Wrap(func(base http.RoundTripper) http.RoundTripper {
		o.base = base
		return mapcontroller.ServerClock{Base: o.transport, Clock: realClock}
	})
	options := mapcontroller.Options{
		Workers:          8,
		StatusInterval:   o.program.StatusInterval,
		DeletesPerSecond: o.program.DeletesPerSecond,
		MaxClockSkew:     time.Minute,
		KindsInterval:    200 * time.Millisecond,
		Clock:            realClock,
		Stores:           mapcontroller.NewStores(),
	}
	m, err := manager.New(wrapped, manager.Options{
		Scheme: newScheme(),
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{o.namespace: {}},
			ByObject:          o.cached,
			NewInformer:       options.Stores.NewInformer,
		},
		NewCache:               mutationdetector.NewCache,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Controller:             config.Controller{SkipNameValidation: new(true)},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(o.mapController().SetupWithManager(m, options)).To(Succeed())
	return m
}

// mapController returns the operator's program as the engine's API has it.
func (o *operator) mapController() *mapcontroller.MapController[*Bucket, keyStatus] {
	type (
		request = mapcontroller.MapRequest[*Bucket]
		result  = mapcontroller.Result[keyStatus]
	)
	run := func(decide func(observation) decision, r request) result {
		d := decide(observation{Now: r.Now, Parent: r.Parent, Input: r.Input, Outputs: r.Outputs})
		return result{Outputs: d.Outputs, Evidence: d.Evidence, Next: d.Next}
	}
	c := &mapcontroller.MapController[*Bucket, keyStatus]{
		Name:      "enginetest",
		Tags:      mapcontroller.Tags{MapKey: keyLabel, Parent: parentLabel},
		NewParent: func() *Bucket { return &Bucket{} },
		MapKey:    o.program.MapKey,
		Finalizer: o.program.Finalizer,
		Orphan:    o.program.Orphan,
		Select: func(b *Bucket) (labels.Selector, error) {
			if b.Spec.Invalid {
				return nil, errors.New("spec.invalid is set")
			}
			return metav1.LabelSelectorAsSelector(&b.Spec.Selector)
		},
		Map: func(r request) result {
			o.recordMap(r.Parent.Name + "/" + r.Input.GetName())
			return run(o.program.Map, r)
		},
		Record: func(_ *Bucket, _ string, s keyStatus, outcome mapcontroller.Outcome) keyStatus {
			for _, f := range outcome.Failed {
				o.recordFailure(failure{verb: f.Verb, err: f.Err})
			}
			if outcome.Paused != nil {
				o.recordPause()
				s.paused = 1
			}
			return s
		},
		Merge: func(a, b keyStatus) keyStatus { return keyStatus{paused: a.paused + b.paused} },
		Status: func(_ time.Time, b *Bucket, s mapcontroller.Situation[keyStatus]) {
			if s.Settled {
				b.Status.ObservedGeneration = b.Generation
			}
			b.Status.Missing, b.Status.Invalid = s.Missing, ""
			if s.Invalid != nil {
				b.Status.Invalid = s.Invalid.Error()
			}
			if s.Totals != nil {
				b.Status.Inputs, b.Status.Outputs = s.Totals.Inputs, s.Totals.Outputs
				b.Status.DetachedKeys, b.Status.Paused = s.Totals.DetachedKeys, s.Note.paused
			}
		},
	}
	if o.program.Tombstone != nil {
		c.Tombstone = func(r request) result { return run(o.program.Tombstone, r) }
	}
	for _, k := range o.program.Inputs {
		c.Inputs = append(c.Inputs, mapcontroller.Input{Object: k.Object, Resource: k.Resource})
	}
	for _, k := range o.program.Outputs {
		c.Outputs = append(c.Outputs, mapcontroller.Output{
			Object: k.Object, Resource: k.Resource, UpdateInPlace: k.UpdateInPlace, InputName: k.InputName, Served: k.Covers,
		})
	}
	return c
}
