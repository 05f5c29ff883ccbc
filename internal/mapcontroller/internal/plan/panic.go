// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"runtime/debug"
)

// PanicError is of a function of the engine's user that panicked.
type PanicError struct {
	Value any
	// Stack is where it panicked.
	Stack []byte
}

// NewPanicError returns the error for a recovered value. It is called by the deferred function that recovered.
func NewPanicError(value any) *PanicError { return &PanicError{Value: value, Stack: debug.Stack()} }

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
