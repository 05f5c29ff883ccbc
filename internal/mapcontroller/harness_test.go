// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
)

var testKey = fixture.Request

// harness is a Controller between a cache and an API server.
type harness struct {
	*Controller
	api   *fixture.API
	clock *clocktesting.FakePassiveClock
	// Program is what parents compile to, unless Invalid is set. What their
	// spec.selector selects is mapped to a Pod of its name.
	program Program
	invalid error
}

// settings returns a MapController with all that is required. Its program is that
// of a harness.
func (h *harness) settings() MapController {
	return MapController{
		Name: "test", Ownership: Ownership{Tags: fixture.Tags}, NewParent: func() client.Object { return &appsv1.Deployment{} },
		Inputs: []Input{{Object: &corev1.Secret{}, Resource: "secrets"}}, Outputs: fixture.Outputs(),
		Compile: func(client.Object, ...client.Object) (Program, error) { return h.program, h.invalid },
		Status:  Status{OfParent: func(time.Time, client.Object, Summary) {}},
	}
}

func (h *harness) dependencies() Dependencies {
	return Dependencies{
		Client: h.api, Live: h.api, Scheme: clientgoscheme.Scheme,
		Discovery: &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}},
	}
}

func newHarness(t testing.TB, cached, stored []client.Object, changes ...func(*MapController, *Options)) *harness {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(fixture.Now)
	h := &harness{api: fixture.NewAPI(clock, stored...), clock: clock, program: fixture.Program()}
	h.program.Selects = nil
	settings, options := h.settings(), Options{Clock: clock, Stores: informer.NewStores()}
	for _, change := range changes {
		change(&settings, &options)
	}
	var err error
	if h.Controller, err = settings.New(h.dependencies(), options); err != nil {
		t.Fatal(err)
	}
	h.aggregator.Searched("")
	fixture.Fill(options.Stores, h.lookup.InputIndexers(), h.lookup.OutputIndexers(0), cached...)
	return h
}

func (h *harness) reconcile(t *testing.T) time.Duration {
	t.Helper()
	result, err := h.Reconcile(t.Context(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	return result.RequeueAfter
}

// ownsByLabels makes all parents own by labels.
func ownsByLabels(c *MapController, _ *Options) {
	c.Ownership.OwnsByLabels, c.Release.Finalizer = fixture.Always, "test/release"
}

func deletingParent() *appsv1.Deployment { return fixture.Parent(fixture.Deleting) }
