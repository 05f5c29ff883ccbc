// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrNameCollision says that the name of a desired output is taken by an object that
// does not do its work. The error itself is a CollisionError.
var ErrNameCollision = errors.New("the name is taken")

// CollisionError is about one object.
type CollisionError struct {
	// Existing is the object that has the name. It may be shared with a cache.
	Existing client.Object
	// Owned is set if it is an output of the parent's own, of a kind that is never
	// updated: it belongs to another key, or somebody changed it.
	Owned bool
}

// Error implements error.
func (e *CollisionError) Error() string {
	if e.Owned {
		return fmt.Sprintf("%v: %s is an output of the same parent and differs from the desired one", ErrNameCollision, e.Existing.GetName())
	}
	return fmt.Sprintf("%v: %s", ErrNameCollision, e.Existing.GetName())
}

// Is implements errors.Is.
func (e *CollisionError) Is(target error) bool { return target == ErrNameCollision }

// Collision is a desired output whose name is taken.
type Collision struct {
	Desired client.Object
	Err     error
}
