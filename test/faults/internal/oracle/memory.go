/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
