// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MayAdopt returns nil if the API server holds the parent with this UID and it
// is not being deleted, else ErrAdoptionRefused or the error of the read. The
// cache may lag: a parent that was just deleted with its outputs orphaned would
// take them back, and the garbage collector would delete them.
func (g *Guard) MayAdopt(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	live := g.NewParent()
	err := g.Live.Get(ctx, name, live)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err != nil, live.GetUID() != uid:
		return fmt.Errorf("%w: the owner is gone", ErrAdoptionRefused)
	case live.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%w: the owner is being deleted", ErrAdoptionRefused)
	}
	return nil
}
