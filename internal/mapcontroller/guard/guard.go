// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"errors"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/observe"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
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
	Rules        *plan.Rules
	Observer     *observe.Observer
	// NewParent returns an empty parent.
	NewParent func() client.Object
	// Compile compiles a parent's spec.
	Compile func(client.Object) plan.Parent

	parents shared[plan.Parent]
}
