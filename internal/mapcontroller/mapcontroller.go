// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Request names one unit of work: the outputs that one parent keeps for one
// map key.
type Request struct {
	Parent types.NamespacedName
	MapKey string
}

// Tags are the labels by which outputs are told apart.
type Tags struct {
	// MapKey is the label that holds the key of the input an output came from.
	MapKey string
	// Parent is the label that holds the name of the parent. An output that
	// nobody controls and that carries it may be adopted; an owned one that
	// carries another name is released.
	Parent string
}

// Input is a kind whose objects are mapped.
type Input struct {
	// Object is an empty object of the kind.
	Object client.Object
	// Resource is the plural by which status counts the kind.
	Resource string
	// Changed tells whether an update may change what Map returns. Changes of
	// labels, controller and deletionTimestamp always count. Nil: every update counts.
	Changed func(before, after client.Object) bool
}

// Output is a kind whose objects are kept for inputs.
type Output struct {
	// Object is an empty object of the kind.
	Object client.Object
	// Resource is the plural by which status counts the kind.
	Resource string
	// UpdateInPlace makes an observed output follow the desired one by
	// server-side apply. Without it an output is never changed once created.
	UpdateInPlace bool
	// Conditions returns the names of the conditions that are true of an
	// output, for the counts in status. Nil: TrueConditions.
	Conditions func(client.Object) []string
	// InputName returns the name of the input that an output came from, to look
	// for it live. Nil, or an empty name: all inputs of the namespace are read.
	InputName func(client.Object) string
	// Served tells whether an object that nobody controls and that has the name
	// of a desired output already does the work of it. Nil: never.
	Served func(desired, existing client.Object) bool
	// Updated is told of each change that is seen of an output of a parent, and
	// of nothing that was there before: it is for metrics. Nil: nobody asks.
	Updated func(parent types.NamespacedName, before, after client.Object)
}

// MapController describes one controller. P is the parent's type, a pointer to
// an API struct; S is what one key tells of itself for the parent's status.
type MapController[P client.Object, S any] struct {
	// Name is used for the controller, its metrics and its field manager.
	Name string
	Tags Tags
	// NewParent returns an empty parent.
	NewParent func() P
	Inputs    []Input
	Outputs   []Output

	// MapKey identifies an input for as long as it lives. Nil: its UID.
	MapKey func(input client.Object) string
	// Select returns the parent's selector over inputs. An error says that the
	// parent's spec is invalid: while it is, nothing is created or deleted.
	Select func(parent P) (labels.Selector, error)
	// ParentChanged tells whether an update of a parent, other than of its
	// generation or deletionTimestamp, concerns its keys. Nil: no other does.
	ParentChanged func(before, after P) bool

	// Finalizer is set on a parent while Orphan says that its outputs are to
	// outlive it: they are released before it goes. Empty: never.
	Finalizer string
	Orphan    func(parent P) bool

	// Map says which outputs an input should have. It is a pure function.
	Map func(MapRequest[P]) Result[S]
	// Tombstone says which outputs to keep for an input that is gone or no
	// longer selected. It is a pure function, and can only keep or drop. Nil:
	// none is kept.
	Tombstone func(MapRequest[P]) Result[S]

	// Record is told what became of a pass over a key, and returns the note
	// that goes into the fold. It is where events and metrics belong. Nil: the
	// note is taken as it is.
	Record func(parent P, mapKey string, note S, outcome Outcome) S
	// Gone is told of a parent that is gone, once more whenever that is found
	// out: what Record or Status left behind may come after the event. Nil:
	// nobody asks.
	Gone func(parent types.NamespacedName)
	// Merge folds two notes into one. It must be associative and commutative,
	// with the zero S as its identity.
	Merge func(a, b S) S
	// Status writes what is known into the parent's status fields; the engine
	// writes them to the API server if they changed.
	Status func(now time.Time, parent P, s Situation[S])
}

// MapRequest is what a decision may look at.
type MapRequest[P client.Object] struct {
	// Now is the only clock of a decision.
	Now    time.Time
	Parent P
	MapKey string
	// Input is the object of this key. In a Tombstone it is nil when the input
	// is gone, and set when it exists but is not selected.
	Input client.Object
	// Outputs are the parent's outputs of this key, the oldest first, those being
	// deleted among them. They may be shared with the cache: never change one.
	Outputs []client.Object
}

// Result is a decision about one key.
type Result[S any] struct {
	// Outputs are the desired ones. An observed output is kept by returning it
	// as it is; one that is not returned is deleted.
	Outputs []client.Object
	// Evidence are the observed outputs on which deletes rest: they are read
	// live before any delete, and the decision is taken again with them.
	Evidence []client.Object
	// Why says for an observed output, in a word, why it is kept or deleted. Nil:
	// there is nothing to say.
	Why func(observed client.Object) string
	// Next is when the decision would change by time alone; zero: never.
	Next time.Time
	// Note is what the key has to say for the parent's status.
	Note S
}

// Outcome is what became of a pass over one key.
type Outcome struct {
	Created []client.Object
	Deleted []Deletion
	// Failed are the writes that failed. Reads that failed end a pass instead.
	Failed []Failure
	// Paused is set when deletes were due but not safe: see ErrClockSkew.
	Paused error
	// Waiting tells that deletes are due and were not tried: they wait for their
	// turn, so that nothing new is known of them.
	Waiting bool
}

// Deletion is one output that was deleted, and the decision's word for why.
type Deletion struct {
	Object client.Object
	Why    string
}

// Failure is one write that failed.
type Failure struct {
	Verb   string // create, update, delete, adopt or release
	Object client.Object
	Err    error
}

// Situation is what is known of a parent when its status is worked out.
type Situation[S any] struct {
	// Missing names the kinds that the API server does not serve.
	Missing []string
	// Invalid is the error of Select, if any.
	Invalid error
	// Totals counts over all keys. It is nil when they have not been looked at:
	// a kind is missing, or the spec is invalid.
	Totals *Totals
	// Note is the fold of the notes of all keys.
	Note S
	// Settled tells that every key has been looked at under the present
	// generation.
	Settled bool
}

func uidKey(input client.Object) string { return string(input.GetUID()) }
