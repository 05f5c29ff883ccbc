// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import "sync"

// memory keeps what texts were read to: a history has few specs, and each is
// asked about thousands of times. What does not read is read again.
type memory[T any] struct {
	read  func(text string) (T, error)
	known sync.Map
}

func (m *memory[T]) of(text string) (T, error) {
	if known, ok := m.known.Load(text); ok {
		return known.(T), nil
	}
	value, err := m.read(text)
	if err == nil {
		m.known.Store(text, value)
	}
	return value, err
}
