// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/transport"
)

// ErrChanged says that the API server holds something else than the cache on
// which a decision was made. The key is reconciled again.
var ErrChanged = errors.New("the objects that the decision depends on have changed")

// ErrClockSkew says that the API server's clock and the local one differ by
// more than is allowed, or that the API server's is not known.
var ErrClockSkew = errors.New("the clock cannot be trusted")

// ErrAdoptionRefused says that an orphan was left alone because the parent is
// not, on the API server, what it is in the cache.
var ErrAdoptionRefused = errors.New("adoption refused")

// Guard confirms deletes and adoptions.
type Guard struct {
	// Live reads from the API server, never from a cache.
	Live  client.Reader
	Clock clock.PassiveClock
	// MaxClockSkew is how far the API server's clock and the local one may differ.
	MaxClockSkew time.Duration
	// Concurrency is how many outputs of a key are read at a time.
	Concurrency int
	Kinds       *plan.Kinds
	// NewParent returns an empty parent.
	NewParent func() client.Object
	// Compile compiles a parent's spec, with the objects that decide about it. Governors returns what the cache
	// has of these. Nil: there are none.
	Compile   func(parent client.Object, governors []client.Object) plan.Parent
	Governors func(parent client.Object) []client.Object

	parents shared[types.NamespacedName, client.Object]
	// inputs are those of a namespace, by map key.
	inputs shared[string, map[string][]client.Object]
	// related are nil where they are gone.
	related shared[plan.ID, client.Object]
}

// MayAdopt returns nil if the API server holds the parent with this UID and it
// is not being deleted, else ErrAdoptionRefused or the error of the read. The
// cache may lag: a parent that was just deleted with its outputs orphaned would
// take them back, and the garbage collector would delete them. It returns ErrChanged
// if the parent owns by labels now.
func (g *Guard) MayAdopt(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	live := g.NewParent()
	err := g.Live.Get(ctx, name, live)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil || live.GetUID() != uid || live.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%w: the owner is gone or being deleted", ErrAdoptionRefused)
	}
	ctx, _ = transport.WithSkew(ctx) // which a shared read needs
	decided, _, err := g.compiled(ctx, live, g.Clock.Now())
	if err == nil && g.Kinds.Ownership.ByLabels(decided.Object) {
		err = ErrChanged
	}
	return err
}

// ServerTime returns the API server's time, in whole seconds and rounded up; the zero
// time if its clock and the local one differ too much for either to be trusted.
func (g *Guard) ServerTime(ctx context.Context, parent client.Object) (time.Time, error) {
	ctx, observed := transport.WithSkew(ctx)
	err := g.Live.Get(ctx, client.ObjectKeyFromObject(parent), g.NewParent())
	if observed.Beyond(g.MaxClockSkew) {
		return time.Time{}, client.IgnoreNotFound(err)
	}
	return observed.Date(), client.IgnoreNotFound(err)
}

// metadataPage is how many objects a page of metadata holds.
const metadataPage = 500

// EachMetadata calls do with the metadata of every live object of a kind, page
// by page.
func EachMetadata(
	ctx context.Context, live client.Reader, kind schema.GroupVersionKind, do func(client.Object), opts ...client.ListOption,
) error {
	for next := ""; ; {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := live.List(ctx, page, append(opts, client.Limit(metadataPage), client.Continue(next))...); err != nil {
			return err
		}
		for i := range page.Items {
			page.Items[i].SetGroupVersionKind(kind)
			do(&page.Items[i])
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}
