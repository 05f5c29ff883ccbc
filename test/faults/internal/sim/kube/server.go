// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube is an API server in memory: small, strict, and without a clock,
// a goroutine or a random number of its own. It knows what SnapshotSchedule
// touches of the real one: resourceVersions, UIDs, generations, preconditions,
// finalizers, status subresources, terminating namespaces and what the garbage
// collector does. Objects that it hands out or has stored are never changed
// again: every write makes a new one.
package kube

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// Someone is the request of a change that no operator made.
const Someone = -1

// Server is the API server and its store.
type Server struct {
	// Now is the server's clock, and NewUID draws names for objects.
	Now    func() time.Time
	NewUID func() types.UID
	// Committed is told of every change, in order. It must not write.
	Committed func(k Kind, change history.Change)

	objects [kinds]map[client.ObjectKey]client.Object
	// sorted are the same in the order of their keys.
	sorted   [kinds][]client.Object
	byUID    map[types.UID]client.Object
	revision int64
}

// NewServer returns an empty one.
func NewServer(now func() time.Time, newUID func() types.UID) *Server {
	s := &Server{Now: now, NewUID: newUID, byUID: map[types.UID]client.Object{}}
	for k := range s.objects {
		s.objects[k] = map[client.ObjectKey]client.Object{}
	}
	return s
}

// Revision is that of the last change.
func (s *Server) Revision() int64 { return s.revision }

// Get returns an object, or a 404. It is shared: it must not be changed.
func (s *Server) Get(k Kind, key client.ObjectKey) (client.Object, error) {
	if o := s.objects[k][key]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(k.Resource(), key.Name)
}

// Find returns the object, or nil.
func (s *Server) Find(k Kind, key client.ObjectKey) client.Object { return s.objects[k][key] }

// Exists tells whether an object of this UID is stored.
func (s *Server) Exists(uid types.UID) bool { return s.byUID[uid] != nil }

// List returns all objects of a kind in the order of their keys, as the real one
// does. They are shared.
func (s *Server) List(k Kind) []client.Object {
	return slices.Clone(s.sorted[k])
}

// place is where an object of a key is in the order, or would be.
func (s *Server) place(k Kind, key client.ObjectKey) (at int, found bool) {
	return slices.BinarySearchFunc(s.sorted[k], key, func(o client.Object, key client.ObjectKey) int {
		return cmp.Or(strings.Compare(o.GetNamespace(), key.Namespace), strings.Compare(o.GetName(), key.Name))
	})
}

// stamp is the server's clock as it is written into objects: whole seconds.
func (s *Server) stamp() metav1.Time { return metav1.NewTime(s.Now().UTC().Truncate(time.Second)) }

// commit stores one step of an object; after is nil for its end. It owns after.
func (s *Server) commit(k Kind, before, after client.Object, request int) {
	s.revision++
	if after != nil {
		after.SetResourceVersion(strconv.FormatInt(s.revision, 10))
		s.put(k, after)
	} else {
		s.drop(k, before)
	}
	if s.Committed != nil {
		s.Committed(k, history.Change{Revision: s.revision, At: s.Now(), Before: before, After: after, Request: request})
	}
}

func (s *Server) put(k Kind, o client.Object) {
	key := client.ObjectKeyFromObject(o)
	if at, found := s.place(k, key); found {
		s.sorted[k][at] = o
	} else {
		s.sorted[k] = slices.Insert(s.sorted[k], at, o)
	}
	s.objects[k][key] = o
	s.byUID[o.GetUID()] = o
}

func (s *Server) drop(k Kind, o client.Object) {
	key := client.ObjectKeyFromObject(o)
	if at, found := s.place(k, key); found {
		s.sorted[k] = slices.Delete(s.sorted[k], at, at+1)
	}
	delete(s.objects[k], key)
	delete(s.byUID, o.GetUID())
}

func same(a, b client.Object) bool { return equality.Semantic.DeepEqual(a, b) }
