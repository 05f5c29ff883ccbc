// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// MapController describes one controller. What belongs together is a group of fields, which is documented with its type, and is set,
// and checked, as a whole.
type MapController struct {
	// Name is used for the controller, its metrics, its indexes and its field
	// manager. Required.
	Name string
	// Ownership says which outputs are a parent's. Its Tags are required, and its Parent is the kind of NewParent.
	Ownership Ownership
	// NewParent returns an empty parent. Required.
	NewParent func() client.Object
	// ClusterScoped is set if parents have no namespace. Map must then name the
	// namespace of every namespaced output.
	ClusterScoped bool
	// Optional is set if the parents' kind may be missing, or the permission to list one
	// of the kinds: the controller then starts when all kinds can be listed.
	Optional bool
	// Inputs and Outputs are kinds; at least one of each.
	Inputs  []Input
	Outputs []Output

	// Compile compiles a parent's spec. An error says that the spec is invalid:
	// while it is, nothing is created and nothing is deleted. The parent must not
	// be changed. The Program may read all of it, status included: every version that
	// the cache has is compiled, once. governors are those of Governors, or what the API server has of these before a
	// delete: with them, the Program may name another version of the Parent, of which only the spec differs. Required.
	Compile func(parent client.Object, governors ...client.Object) (Program, error)
	// Governors returns the other objects that decide about a parent's spec, from a cache. Their kinds are Live kinds of
	// Related whose changes concern the parent. If nil, none do.
	Governors func(parent client.Object) []client.Object
	// MapKey returns the key of an input. A key stands for all inputs that carry
	// it. An input with an empty key is nobody's. One whose key cannot be the value of a
	// label has its creates refused. If nil, it is the UID.
	MapKey func(input metav1.Object) string
	// SteadyAfter is for how long the selected inputs of a key must be the same before a change of them begins anew: see
	// Observation.ChangingSince.
	SteadyAfter time.Duration
	// Related is what decisions read beside inputs and outputs. Empty: nothing.
	Related Related
	// ParentChanged returns whether an update of a parent concerns its keys, other
	// than one of its UID, generation or deletionTimestamp. If nil, no other does.
	ParentChanged func(before, after client.Object) bool
	// ParentDeleted is called after a parent is deleted. It may be called more than
	// once and must be idempotent. If nil, it is not called.
	ParentDeleted func(parent types.NamespacedName)

	// Release says what a parent waits for before it is deleted. Empty: nothing.
	Release Release
	// Connect, if set, is called once with functions that read the cache and enqueue keys.
	Connect func(Access)
	// Gate delays creates, and neither updates nor deletes. It is called in each pass over a key, with what it creates and the
	// key's outputs, or with neither once the parent is gone. It returns a reason to delay the creates, or "" to allow them,
	// and enqueues the key when it may create: see Access.Enqueue. If nil, none waits.
	Gate func(req Request, create []Desired, outputs []client.Object) (why string)
	// Status is what becomes of the statuses of keys and parents.
	Status Status
}

// Related is what decisions read beside inputs and outputs, from caches.
type Related struct {
	// Objects returns those that the decision about a key reads, beside what else it reads. If nil, there are none.
	Objects func(parent client.Object, seen Observation) []client.Object
	// Kinds are further kinds that Objects reads. They must be installed, too,
	// and no key is reconciled before all of them are in the cache. A change of one
	// object reconciles all keys. Those that are Live differ: see Input.
	Kinds []Input
	// Prepare, if set, is called once the optional kinds can be listed, to start what decisions about them read beside the
	// manager's cache. They are missing to decisions until it returns nil: it is called again after an error.
	Prepare func(context.Context, Host) error
}

// Status is what becomes of the statuses of keys and parents.
type Status struct {
	// OfKey is called after each pass over a key, with the status that the key
	// had before (nil if it had none), the status of the decision and the outcome
	// of the writes. It returns the key's status, and must not change the others: OfParent
	// may be reading them. It is the place for events and metrics. If nil, the decision's
	// status is taken.
	OfKey func(parent client.Object, mapKey string, previous, decided any, outcome Outcome) any
	// OfParent computes a parent's status into it; the engine writes it if it
	// changed. Times must be in whole seconds, as the API server stores them. What the
	// Summary says is not known must stay as it is. If nil, the engine writes the proposal's
	// aggregate, which is observedGeneration, inputs.<plural>.total,
	// outputs.<plural>.total, a count for each condition, and detached.
	OfParent func(now time.Time, parent client.Object, s Summary)
	// Written, if set, is called after a status was written, with what the API server had and has.
	Written func(now time.Time, before, after client.Object)
	// Recording says what of the status decisions depend on. Empty: nothing.
	Recording Recording
	// Unwritten, if set, receives the parents whose status could not be written for some time, for
	// another controller that reads it.
	Unwritten *Unwritten
}

// Release is what a parent waits for before it is deleted. The Finalizer is set if, and only if, Lingers or Ownership.OwnsByLabels is.
type Release struct {
	// Lingers returns whether the deletion of a parent that does not own by labels must wait until its
	// outputs have settled (Output.Settles). If nil, no deletion waits.
	Lingers func(parent client.Object) bool
	// Finalizer is set on a parent that owns by labels while outputs may still refer to
	// it: these references are removed before the parent is deleted. It is also set on a parent
	// that Lingers, and stays until its outputs have settled.
	Finalizer string
}

// Access is what a controller does for its user.
type Access struct {
	// Enqueue enqueues a key after a delay, for what no event shows.
	Enqueue func(Request, time.Duration)
	// KeyOf returns the key that an output belongs to, and whether the parent controls it or owns it by its labels. Without the
	// name of a parent, it belongs to none.
	KeyOf func(output client.Object) (req Request, owned bool)
	// Outputs returns the outputs of a key that the cache has, and the orphans that name it;
	// none without the parent.
	Outputs func(Request) []client.Object
	// Parent returns a parent as it is decided about, as far as the cache has it; nil without it.
	Parent func(types.NamespacedName) client.Object
	// WakeStatus has a parent's status computed again after a delay.
	WakeStatus func(parent types.NamespacedName, after time.Duration)
	// Spec returns the Program.Spec of a parent, as far as the cache has it; nil without it, or if the spec is invalid.
	Spec func(types.NamespacedName) any
	// MadeFrom returns the outputs that were made from the input with a MapKey, beside those
	// that have it as their map key, in a namespace.
	MadeFrom func(namespace, input string) []client.Object
}

// DefaultMaxClockSkew is the default of Options.MaxClockSkew.
const DefaultMaxClockSkew = time.Minute

// Options are the settings of a MapController.
type Options struct {
	// Workers is the maximum number of keys reconciled concurrently, half of them in one
	// namespace. Default: 64.
	Workers int
	// StatusInterval is the shortest time between two status writes of one parent.
	// Default: 5s.
	StatusInterval time.Duration
	// DeletesPerSecond limits the deletes of outputs, in bursts of as many. Zero:
	// no limit.
	DeletesPerSecond float64
	// MaxClockSkew is how far the API server's clock and the local one may differ
	// before nothing is deleted. Default: DefaultMaxClockSkew.
	MaxClockSkew time.Duration
	// KindsInterval is how often a kind that is not installed is looked for.
	// Default: 1m.
	KindsInterval time.Duration
	// Namespaces are those that the manager's cache is restricted to; none: all.
	Namespaces []string
	// Clock is the only clock. Required.
	Clock clock.PassiveClock
	// Stores are those that the manager's cache was made with
	// (cache.Options.NewInformer). Required.
	Stores *informer.Stores
}

// withDefaults returns a copy with defaults, or an error that names everything
// that a user must still set.
func (c MapController) withDefaults() (*MapController, error) {
	missing := missing{}
	missing.unless(c.Name != "", "Name is empty")
	missing.unless(c.Ownership.Tags.MapKey != "" && c.Ownership.Tags.Parent != "", "Ownership.Tags: both labels must be set")
	missing.unless(c.NewParent != nil, "NewParent is nil")
	missing.unless(c.Compile != nil, "Compile is nil")
	missing.unless(len(c.Inputs) > 0, "Inputs is empty")
	missing.unless(len(c.Outputs) > 0, "Outputs is empty")
	missing.unless((c.Status.Recording.Field == "") == (c.Status.Recording.IsDue == nil), "Status.Recording: set Field and IsDue, or neither")
	missing.unless((c.Release.Finalizer == "") == (c.Ownership.OwnsByLabels == nil && c.Release.Lingers == nil),
		"Release: set Finalizer if, and only if, Lingers or Ownership.OwnsByLabels is set")
	for i, in := range c.Inputs {
		missing.unless(in.Object != nil && in.Resource != "", fmt.Sprintf("Inputs[%d]: Object and Resource must be set", i))
	}
	for i, out := range c.Outputs {
		missing.unless(out.Object != nil && out.Resource != "", fmt.Sprintf("Outputs[%d]: Object and Resource must be set", i))
		missing.unless(out.Settles == 0 || c.Release.Lingers != nil, fmt.Sprintf("Outputs[%d]: Settles needs Release.Lingers", i))
		missing.unless(out.Children == nil || out.Children.Is != nil && out.Children.Cached != nil && out.Children.Live != nil,
			fmt.Sprintf("Outputs[%d].Children: Is, Cached and Live must be set", i))
	}
	for i, related := range c.Related.Kinds {
		missing.unless(related.Object != nil, fmt.Sprintf("Related.Kinds[%d]: Object must be set", i))
	}
	if c.Gate == nil {
		c.Gate = func(Request, []Desired, []client.Object) string { return "" }
	}
	c.Inputs, c.Outputs = slices.Clone(c.Inputs), slices.Clone(c.Outputs)
	return &c, errors.Join(missing...)
}

func (o Options) withDefaults() (Options, error) {
	missing := missing{}
	missing.unless(o.Clock != nil, "no Clock is set")
	missing.unless(o.Stores != nil, "no Stores are set: pass those that the manager's cache was made with")
	missing.unless(min(o.StatusInterval, o.MaxClockSkew, o.KindsInterval) >= 0 && min(float64(o.Workers), o.DeletesPerSecond) >= 0,
		"a setting is negative")
	o.Workers = cmp.Or(o.Workers, 64)
	o.StatusInterval = cmp.Or(o.StatusInterval, 5*time.Second)
	o.MaxClockSkew = cmp.Or(o.MaxClockSkew, DefaultMaxClockSkew)
	o.KindsInterval = cmp.Or(o.KindsInterval, time.Minute)
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{metav1.NamespaceAll}
	}
	return o, errors.Join(missing...)
}

// missing are the errors about what a user must still set.
type missing []error

func (m *missing) unless(ok bool, what string) {
	if !ok {
		*m = append(*m, errors.New(what))
	}
}

// selector returns the label selector in a parent's spec.selector, which is what
// selects where a Program does not. An empty or missing one selects everything.
func selector(parent client.Object) (func(client.Object) bool, error) {
	var spec struct {
		Spec struct {
			Selector metav1.LabelSelector `json:"selector"`
		} `json:"spec"`
	}
	err := plan.Fields(parent, &spec)
	s, invalid := metav1.LabelSelectorAsSelector(&spec.Spec.Selector)
	if err = errors.Join(err, invalid); err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	return func(input client.Object) bool { return s.Matches(labels.Set(input.GetLabels())) }, nil
}
