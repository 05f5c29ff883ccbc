// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Request is one unit of work: the outputs that a parent keeps for a map key. Requests
// without a map key are searches: see SearchOf and SearchAll.
type Request struct {
	Parent types.NamespacedName
	MapKey string
}

// NoMapKey is the map key of outputs that lost theirs. An empty label is none, too.
const NoMapKey = ""

// SearchOf is the request to find a parent's outputs without a map key, which may be in no
// cache, and to release them.
func SearchOf(parent types.NamespacedName) Request { return Request{Parent: parent, MapKey: NoMapKey} }

// SearchAll is the request to find the parents that have such outputs.
var SearchAll = SearchOf(types.NamespacedName{})

// IsSearch returns whether a request is a search.
func (r Request) IsSearch() bool { return r.MapKey == NoMapKey }

// Program is a parent's spec, compiled. Its functions must be pure.
type Program struct {
	// Selects returns whether an input is selected. Nil: the label selector in
	// the parent's spec.selector decides; an empty one selects everything.
	Selects func(input client.Object) bool
	// Map decides about a key with a selected input.
	Map func(Observation) Decision
	// Tombstone decides about a key without one. It can keep, delete and update
	// outputs, but not create any. Nil: all outputs are deleted.
	Tombstone func(Observation) Decision
	// Key returns the map key of an input under this spec, so that several inputs can
	// share one. Nil: it is MapController.MapKey.
	Key func(input client.Object) string
	// KeyIndex finds the inputs that share a key. Nil: all are asked for their Key, in each pass over one.
	KeyIndex *KeyIndex
	// NeedsOptional is set if the spec needs the kinds that are optional.
	NeedsOptional bool
	// Spec is the compiled spec, for whatever computes the parent's status.
	Spec any
	// Parent is the parent with the spec that it is decided by, where that is not its own. Nil:
	// it is.
	Parent client.Object
}

// KeyIndex finds inputs by what they share with the others of their key. It finds every input whose Program.Key is not the
// MapController.MapKey, and may find others.
type KeyIndex struct {
	// Name tells indexes apart: programs whose Values are the same function give it the same name, and share one.
	Name string
	// Value returns by what an input is found; empty: by nothing.
	Value func(input client.Object) string
	// Of returns by what the inputs of a key are found.
	Of func(mapKey string) string
}

// Parent is a parent with its compiled spec.
type Parent struct {
	// Object is the parent as it is decided about, Read as it was read: they differ where something else
	// decides about the spec.
	Object, Read client.Object
	// Program is set if Invalid is nil.
	Program *Program
	// Invalid says why the spec cannot be compiled. Such a parent's outputs are
	// released where a user asks for it, and otherwise left as they are.
	Invalid error
}

// Observation is everything that a decision may depend on. Its objects may be
// shared with a cache: they must never be changed.
type Observation struct {
	// Now is the only clock of a decision.
	Now time.Time
	// Confirms is set where deletes are confirmed: of the decision only these and their evidence are read then. Ahead is by
	// how much Now is ahead of the API server's clock, at least, which is known only there.
	Confirms bool
	Ahead    time.Duration

	MapKey string
	// Selected are the inputs that carry the key, of all kinds, and are selected. Unselected
	// are the others that carry it, and those from which the outputs were made. An output
	// of the parent is never selected.
	Selected, Unselected []client.Object
	// SameSince is since when this process has seen these very Selected, and ChangingSince since when it has not seen
	// the same ones for MapController.SteadyAfter. They are known only to the controller, and only where the program has
	// keys of its own; zero otherwise.
	SameSince, ChangingSince time.Time
	// Outputs are the parent's outputs of this key, and the orphans that it is
	// about to adopt; the oldest first, those being deleted included.
	Outputs []client.Object
	// Elsewhere are the parent's outputs of other keys that were made from the same inputs (Output.Sources). A
	// decision may depend on them, and cannot change them.
	Elsewhere []client.Object
	// Children are the cached children of Outputs and of Elsewhere: see Output.Children.
	Children []client.Object
	// Related are other objects that the decision reads.
	Related []client.Object
	// Missing are the optional kinds that the cache does not have (yet).
	Missing []schema.GroupVersionKind
}

// Decision is what should become of the outputs of a key. Outputs that it does
// not mention stay as they are.
type Decision struct {
	// Ensure are outputs that should exist. One that does not exist is created.
	// One that does is updated if its kind has an Update; otherwise it must not
	// differ.
	Ensure []Desired
	// Delete are observed outputs. Of those that are Bounded, in their order, at most Places are
	// deleted in one pass; the others wait until an event of the key.
	Delete []Removal
	Places int
	// Evidence are the observed outputs, also of other keys, on which the deletes depend. They are
	// read live before any delete, and the decision is made again with them.
	Evidence []client.Object
	// Next is when the decision may change by time alone; zero: never.
	Next time.Time
	// Status is the key's part of the parent's status. Nil: it has none.
	Status any
}

// Desired is an output that should exist.
type Desired struct {
	Object client.Object
	// Limit names the limit that its creation counts towards, and Since is the time from
	// which the output is missing. They matter only to MapController.Gate.
	Limit string
	Since time.Time
}

// Removal is an output to delete.
type Removal struct {
	Object client.Object
	// Reason says why, in one word, for logs and metrics.
	Reason string
	// Urgent deletes are not paced: something waits for them, and they cost the
	// backend nothing.
	Urgent bool
	// Bounded deletes need one of Decision.Places.
	Bounded bool
}

// ReasonDetached is the reason of deletes where there is no Tombstone.
const ReasonDetached = "Detached"

// Update is an output to change: Changed is Observed, changed as Desired asks.
type Update struct{ Observed, Changed, Desired client.Object }

// Plan is what has to be written for a key.
type Plan struct {
	// Create are complete objects: tagged, and with their owner.
	Create []Desired
	// Collisions are desired outputs that cannot be created, because an output of the
	// parent has the name and is never updated.
	Collisions []Collision
	Update     []Update
	// Adopt are orphans that get the parent's controllerRef, Release are owned
	// outputs that lose it.
	Adopt, Release []client.Object
	// Referred is set if the parent owns by labels and outputs still refer to it.
	Referred bool
	// Delete is empty in a plan that adopts: until the adoptions are confirmed, an
	// orphan must not stand in for a snapshot that a delete would take away.
	Delete []Removal
	// Places are the Decision's.
	Places int
	// Withheld is set if deletes wait: for adoptions, releases, or outputs to settle.
	Withheld bool
	Evidence []client.Object
	Next     time.Time
	// Key has no Counts yet: see Kinds.Counts.
	Key KeyStatus
	// Err says what is wrong with the decision. The rest of the plan holds.
	Err error

	// selected and counted are the inputs and outputs that are counted; detached is set if there was no input to decide about.
	selected, counted []client.Object
	detached          bool
}

// KeyStatus is a key's part of its parent's status.
type KeyStatus struct {
	// Generation of the parent under which the key was decided; zero: not yet.
	Generation int64
	Counts     []Count
	// Status is the decision's.
	Status any
}

// Empty returns whether a key adds nothing to its parent's status.
func (k *KeyStatus) Empty() bool { return len(k.Counts) == 0 && k.Status == nil }
