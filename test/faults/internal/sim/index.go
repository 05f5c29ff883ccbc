// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"

	toolscache "k8s.io/client-go/tools/cache"
)

// index is the store of one informer. It returns objects in the same order in every run; client-go's order varies.
type index struct {
	toolscache.Indexer // nil: the engine calls only the methods below

	functions toolscache.Indexers
	objects   map[string]any
	keys      []string
	values    map[string]map[string][]any
}

func newIndex(functions toolscache.Indexers) *index {
	x := &index{functions: functions, objects: map[string]any{}, values: map[string]map[string][]any{}}
	for name := range functions {
		x.values[name] = map[string][]any{}
	}
	return x
}

// set stores an object under a key, or removes it if it is nil, and returns the previous one.
func (x *index) set(key string, o any) (before any) {
	before = x.objects[key]
	if before != nil {
		x.each(before, func(in map[string][]any, value string) {
			i := slices.Index(in[value], before)
			if in[value] = slices.Delete(in[value], i, i+1); len(in[value]) == 0 {
				delete(in, value)
			}
		})
	}
	if o == nil {
		delete(x.objects, key)
		if i := slices.Index(x.keys, key); i >= 0 {
			x.keys = slices.Delete(x.keys, i, i+1)
		}
		return before
	}
	if before == nil {
		x.keys = append(x.keys, key)
	}
	x.objects[key] = o
	x.each(o, func(in map[string][]any, value string) { in[value] = append(in[value], o) })
	return before
}

func (x *index) each(o any, do func(in map[string][]any, value string)) {
	for name, function := range x.functions {
		values, err := function(o)
		if err != nil {
			panic(fmt.Sprintf("compute index %s: %v", name, err))
		}
		for _, value := range values {
			do(x.values[name], value)
		}
	}
}

// GetByKey implements toolscache.Store.
func (x *index) GetByKey(key string) (item any, exists bool, err error) {
	o, ok := x.objects[key]
	return o, ok, nil
}

// List implements toolscache.Store.
func (x *index) List() []any {
	all := make([]any, len(x.keys))
	for i, key := range x.keys {
		all[i] = x.objects[key]
	}
	return all
}

// ByIndex implements toolscache.Indexer.
func (x *index) ByIndex(name, value string) ([]any, error) {
	in, ok := x.values[name]
	if !ok {
		return nil, fmt.Errorf("no index %q", name)
	}
	return slices.Clone(in[value]), nil
}
