// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

// fold keeps the merge of many values, so that changing one of n costs log n
// merges and reading the whole costs none: a tree whose leaves are the values
// and whose every other node is the merge of its two children.
type fold[S any] struct {
	merge func(a, b S) S
	// nodes holds the root at 1, the children of i at 2i and 2i+1, and the
	// leaves in its second half.
	nodes []S
	leaf  map[string]int
	free  []int
}

func newFold[S any](merge func(a, b S) S) *fold[S] {
	return &fold[S]{merge: merge, nodes: make([]S, 2), leaf: map[string]int{}, free: []int{0}}
}

// all returns the merge of every value; of none, the zero S.
func (f *fold[S]) all() S { return f.nodes[1] }

func (f *fold[S]) set(key string, value S) {
	i, ok := f.leaf[key]
	if !ok {
		if len(f.free) == 0 {
			f.grow()
		}
		i = f.free[len(f.free)-1]
		f.free = f.free[:len(f.free)-1]
		f.leaf[key] = i
	}
	f.put(i, value)
}

func (f *fold[S]) remove(key string) {
	i, ok := f.leaf[key]
	if !ok {
		return
	}
	var zero S
	f.put(i, zero)
	delete(f.leaf, key)
	f.free = append(f.free, i)
}

func (f *fold[S]) put(leaf int, value S) {
	i := len(f.nodes)/2 + leaf
	f.nodes[i] = value
	for i /= 2; i >= 1; i /= 2 {
		f.nodes[i] = f.merge(f.nodes[2*i], f.nodes[2*i+1])
	}
}

// grow doubles the leaves, which keep their numbers.
func (f *fold[S]) grow() {
	n := len(f.nodes) / 2
	nodes := make([]S, 4*n)
	copy(nodes[2*n:], f.nodes[n:])
	f.nodes = nodes
	for i := 2*n - 1; i >= 1; i-- {
		f.nodes[i] = f.merge(f.nodes[2*i], f.nodes[2*i+1])
	}
	for i := 2*n - 1; i >= n; i-- {
		f.free = append(f.free, i)
	}
}
