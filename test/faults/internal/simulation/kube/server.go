// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube is an API server in memory, without a clock, a goroutine or a random number of its own. It implements what
// SnapshotSchedule depends on: resourceVersions, UIDs, generations, preconditions, finalizers, status subresources, terminating
// namespaces and garbage collection. Stored objects are immutable: every write stores a new one. The rules in rules_test.go are tested
// against a real API server too.
package kube

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Change is one change of an object. Before is nil if it was created, After if it was removed.
type Change struct {
	Kind          Kind
	Revision      int64
	At            time.Time
	Before, After client.Object
}

// Server is the API server and its store.
type Server struct {
	// Now is the server's clock, NewUID returns the UIDs of new objects.
	Now    func() time.Time
	NewUID func() types.UID
	// OnCommit is called with every change, in order. It must not write.
	OnCommit func(Change)

	objects [kinds]map[client.ObjectKey]client.Object
	// sorted are the same objects, by key.
	sorted   [kinds][]client.Object
	byUID    map[types.UID]client.Object
	revision int64
}

// NewServer returns an empty server.
func NewServer(now func() time.Time, newUID func() types.UID) *Server {
	s := &Server{Now: now, NewUID: newUID, byUID: map[types.UID]client.Object{}}
	for k := range s.objects {
		s.objects[k] = map[client.ObjectKey]client.Object{}
	}
	return s
}

// Get returns an object, which must not be changed, or a NotFound error.
func (s *Server) Get(k Kind, key client.ObjectKey) (client.Object, error) {
	if o := s.objects[k][key]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(k.Resource(), key.Name)
}

// Find returns the object, or nil.
func (s *Server) Find(k Kind, key client.ObjectKey) client.Object { return s.objects[k][key] }

// Exists returns whether an object with this UID is stored.
func (s *Server) Exists(uid types.UID) bool { return s.byUID[uid] != nil }

// List returns all objects of a kind, which must not be changed, in the order of their keys.
func (s *Server) List(k Kind) []client.Object { return slices.Clone(s.sorted[k]) }

// search returns the index of a key in the order, or where it would be inserted.
func (s *Server) search(k Kind, key client.ObjectKey) (at int, found bool) {
	return slices.BinarySearchFunc(s.sorted[k], key, func(o client.Object, key client.ObjectKey) int {
		return cmp.Or(strings.Compare(o.GetNamespace(), key.Namespace), strings.Compare(o.GetName(), key.Name))
	})
}

// timestamp is the server's clock as it is written into objects: in whole seconds.
func (s *Server) timestamp() metav1.Time { return metav1.NewTime(s.Now().UTC().Truncate(time.Second)) }

// commit stores one change of an object; after is nil if it is removed. It owns after.
func (s *Server) commit(k Kind, before, after client.Object) {
	s.revision++
	if after != nil {
		after.SetResourceVersion(strconv.FormatInt(s.revision, 10))
		s.put(k, after)
	} else {
		s.drop(k, before)
	}
	if s.OnCommit != nil {
		s.OnCommit(Change{Kind: k, Revision: s.revision, At: s.Now(), Before: before, After: after})
	}
}

func (s *Server) put(k Kind, o client.Object) {
	key := client.ObjectKeyFromObject(o)
	if at, found := s.search(k, key); found {
		s.sorted[k][at] = o
	} else {
		s.sorted[k] = slices.Insert(s.sorted[k], at, o)
	}
	s.objects[k][key] = o
	s.byUID[o.GetUID()] = o
}

func (s *Server) drop(k Kind, o client.Object) {
	key := client.ObjectKeyFromObject(o)
	if at, found := s.search(k, key); found {
		s.sorted[k] = slices.Delete(s.sorted[k], at, at+1)
	}
	delete(s.objects[k], key)
	delete(s.byUID, o.GetUID())
}
