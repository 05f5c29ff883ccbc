// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
)

func TestNewNamesWhatIsMissing(t *testing.T) {
	for want, change := range map[string]func(*MapController, *Dependencies, *Options){
		"":                            func(*MapController, *Dependencies, *Options) {},
		"Name is empty":               func(c *MapController, _ *Dependencies, _ *Options) { c.Name = "" },
		"Ownership.Tags: both labels": func(c *MapController, _ *Dependencies, _ *Options) { c.Ownership.Tags.Parent = "" },
		"Ownership.Tags: both labels must be set": func(c *MapController, _ *Dependencies, _ *Options) { c.Ownership.Tags.MapKey = "" },
		"NewParent is nil":                        func(c *MapController, _ *Dependencies, _ *Options) { c.NewParent = nil },
		"Compile is nil":                          func(c *MapController, _ *Dependencies, _ *Options) { c.Compile = nil },
		"Inputs is empty":                         func(c *MapController, _ *Dependencies, _ *Options) { c.Inputs = nil },
		"Outputs is empty":                        func(c *MapController, _ *Dependencies, _ *Options) { c.Outputs = nil },
		"Inputs[0]: Object and Resource":          func(c *MapController, _ *Dependencies, _ *Options) { c.Inputs = []Input{{Object: &corev1.Secret{}}} },
		"Outputs[0]: Object and Resource":         func(c *MapController, _ *Dependencies, _ *Options) { c.Outputs = []Output{{Resource: "pods"}} },
		"Release: set Finalizer if":               func(c *MapController, _ *Dependencies, _ *Options) { c.Release.Finalizer = "test/finalizer" },
		"Status.Recording: set Field":             func(c *MapController, _ *Dependencies, _ *Options) { c.Status.Recording.Field = "record" },
		"Release: set Finalizer if, and only if": func(c *MapController, _ *Dependencies, _ *Options) {
			c.Ownership.OwnsByLabels = fixture.Always
		},
		"no kind is registered for the type":  func(_ *MapController, d *Dependencies, _ *Options) { d.Scheme = runtime.NewScheme() },
		"no Clock is set":                     func(_ *MapController, _ *Dependencies, o *Options) { o.Clock = nil },
		"no Stores are set":                   func(_ *MapController, _ *Dependencies, o *Options) { o.Stores = nil },
		"a setting is negative":               func(_ *MapController, _ *Dependencies, o *Options) { o.StatusInterval = -1 },
		"Client, Live, Scheme and Discovery":  func(_ *MapController, d *Dependencies, _ *Options) { d.Live = nil },
		"Client, Live, Scheme":                func(_ *MapController, d *Dependencies, _ *Options) { d.Client = nil },
		"Scheme and Discovery must be set":    func(_ *MapController, d *Dependencies, _ *Options) { d.Discovery = nil },
		"Live, Scheme and Discovery must be ": func(_ *MapController, d *Dependencies, _ *Options) { d.Scheme = nil },
	} {
		t.Run(want, func(t *testing.T) {
			h := newHarness(t, nil, nil)
			settings, d, o := h.settings(), h.dependencies(), Options{Clock: h.clock, Stores: informer.NewStores()}
			change(&settings, &d, &o)
			_, err := settings.New(d, o)
			if want == "" && err != nil {
				t.Fatal(err)
			}
			if want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "map controller ")) {
				t.Errorf("got %v", err)
			}
		})
	}
	// All of it at once.
	if _, err := (MapController{}).New(Dependencies{}, Options{}); err == nil || strings.Count(err.Error(), "\n") < 5 {
		t.Errorf("got %v", err)
	}
}

func TestNewHasDefaults(t *testing.T) {
	h := newHarness(t, nil, nil)
	if o := h.options; o.Workers != 64 || o.StatusInterval != 5*time.Second || o.MaxClockSkew != time.Minute || o.KindsInterval != time.Minute {
		t.Errorf("got %+v", o)
	}
	if key := h.kinds.MapKey(fixture.Input()); key != "in-uid" {
		t.Errorf("map key %s", key)
	}
}

func TestCompile(t *testing.T) {
	selector := func(s *metav1.LabelSelector) func(*appsv1.Deployment) {
		return func(p *appsv1.Deployment) { p.Spec.Selector = s }
	}
	other := fixture.Input(func(s *corev1.Secret) { s.Labels = nil })
	for name, test := range map[string]struct {
		parent      *appsv1.Deployment
		change      func(*harness)
		wantInvalid string
		wantAll     bool
	}{
		"spec.selector selects":                 {parent: fixture.Parent()},
		"an empty selector selects everything":  {parent: fixture.Parent(selector(&metav1.LabelSelector{})), wantAll: true},
		"a missing selector selects everything": {parent: fixture.Parent(selector(nil)), wantAll: true},
		"the program selects":                   {parent: fixture.Parent(), change: func(h *harness) { h.program.Selects = func(client.Object) bool { return true } }, wantAll: true},
		"a selector that is none":               {parent: fixture.Parent(selector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}})), wantInvalid: "spec.selector"},
		"an invalid spec":                       {parent: fixture.Parent(), change: func(h *harness) { h.invalid = errors.New("no such tier") }, wantInvalid: "no such tier"},
		"a Compile that panics": {parent: fixture.Parent(), change: func(h *harness) {
			h.spec.Compile = func(client.Object, ...client.Object) (Program, error) { panic("odd spec") }
		}, wantInvalid: "odd spec"},
		"no Map":                              {parent: fixture.Parent(), change: func(h *harness) { h.program.Map = nil }, wantInvalid: "no Map"},
		"a name that is too long for a label": {parent: fixture.Parent(func(p *appsv1.Deployment) { p.Name = strings.Repeat("a", 64) }), wantInvalid: "metadata.name"},
		"a name as long as a label may be":    {parent: fixture.Parent(func(p *appsv1.Deployment) { p.Name = strings.Repeat("a", 63) })},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, nil, nil)
			if test.change != nil {
				test.change(h)
			}
			got := h.compile(test.parent, nil)
			if test.wantInvalid != "" {
				if got.Invalid == nil || !strings.Contains(got.Invalid.Error(), test.wantInvalid) {
					t.Errorf("got %v, want %q", got.Invalid, test.wantInvalid)
				}
				return
			}
			if got.Invalid != nil || !got.Program.Selects(fixture.Input()) || got.Program.Selects(other) != test.wantAll {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// An invalid spec is logged once, however often it is read.
func TestAnInvalidSpecIsLoggedOnce(t *testing.T) {
	h := newHarness(t, nil, nil)
	logged := 0
	h.log = funcr.New(func(_, args string) {
		if logged++; !strings.Contains(args, "no such tier") || !strings.Contains(args, `"name"="p"`) {
			t.Errorf("logged %s", args)
		}
	}, funcr.Options{})
	h.invalid = errors.New("no such tier")
	for range 3 {
		h.compiled(fixture.Parent())
	}
	if logged != 1 {
		t.Errorf("logged %d times", logged)
	}
}

// A spec that something else decides is compiled again when that changes, and everything takes the parent with that spec.
func TestSpecsFollowTheirGovernors(t *testing.T) {
	governor, compiled := fixture.Input(), 0
	decided := fixture.Parent(func(p *appsv1.Deployment) { p.Annotations = map[string]string{"test/decided": "by the governor"} })
	var governors []client.Object
	var engine Access
	newHarness(t, []client.Object{fixture.Parent()}, nil, func(c *MapController, _ *Options) {
		compile := c.Compile
		c.Governors = func(client.Object) []client.Object { return governors }
		c.Connect = func(a Access) { engine = a }
		c.Compile = func(parent client.Object, by ...client.Object) (Program, error) {
			p, err := compile(parent)
			if p.Spec = len(by); len(by) > 0 {
				compiled++
				p.Parent = decided
			}
			return p, err
		}
	})
	name := client.ObjectKeyFromObject(decided)
	if got := engine.Parent(name); got == client.Object(decided) || engine.Spec(name) != 0 {
		t.Error("without a governor, another version of the parent counts")
	}
	governors = []client.Object{governor}
	for range 2 {
		if got := engine.Parent(name); got != client.Object(decided) || engine.Spec(name) != 1 || compiled != 1 {
			t.Errorf("compiled %d times, got %v", compiled, got)
		}
	}
	governors = []client.Object{fixture.Input()}
	if engine.Parent(name); compiled != 2 {
		t.Errorf("compiled %d times after the governor changed", compiled)
	}
	governors = nil
	if got := engine.Parent(name); got == client.Object(decided) || engine.Parent(types.NamespacedName{Name: "none"}) != nil ||
		engine.Spec(types.NamespacedName{Name: "none"}) != nil {
		t.Error("after the governor is gone, its version of the parent counts")
	}
}

// A spec is compiled again only when the informer holds another object.
func TestSpecsAreCompiledOnce(t *testing.T) {
	compiled := 0
	h := newHarness(t, []client.Object{fixture.Parent()}, nil, func(c *MapController, _ *Options) {
		compile := c.Compile
		c.Compile = func(parent client.Object, _ ...client.Object) (Program, error) {
			compiled++
			return compile(parent)
		}
	})
	for range 3 {
		h.reconcile(t)
	}
	if compiled != 1 {
		t.Errorf("compiled %d times", compiled)
	}
	h.compiled(fixture.Parent())
	h.forget(fixture.Parent())
	h.reconcile(t)
	if compiled != 3 {
		t.Errorf("compiled %d times", compiled)
	}
}
