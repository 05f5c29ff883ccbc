// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube is an API server in memory, without a clock, a goroutine or a random number of its own. It implements what
// SnapshotSchedule depends on, in one namespace: resourceVersions, UIDs, generations, preconditions, finalizers, status subresources and
// garbage collection. Stored objects are immutable: every write stores a new one. rules_test.go compares it with a real API server.
//
//	server.go    its kinds and its store
//	write.go     creates, updates and patches; deletes and the garbage collector
//	request.go   requests over HTTP
package kube

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// Namespace is the namespace of every object.
const Namespace = "ns"

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

	// objects are sorted by name.
	objects  [Kinds][]client.Object
	revision int64
}

// Get returns an object, which must not be changed, or a NotFound error.
func (s *Server) Get(k Kind, name string) (client.Object, error) {
	if o := s.Find(k, name); o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(k.Resource(), name)
}

// Find returns the object, or nil.
func (s *Server) Find(k Kind, name string) client.Object {
	if at, found := s.search(k, name); found {
		return s.objects[k][at]
	}
	return nil
}

// List returns all objects of a kind, which must not be changed, in the order of their names.
func (s *Server) List(k Kind) []client.Object { return slices.Clone(s.objects[k]) }

// search returns the index of a name in the order, or where it would be inserted.
func (s *Server) search(k Kind, name string) (at int, found bool) {
	return slices.BinarySearchFunc(s.objects[k], name, func(o client.Object, name string) int { return strings.Compare(o.GetName(), name) })
}

// timestamp is the server's clock as it is written into objects: in whole seconds.
func (s *Server) timestamp() metav1.Time { return metav1.NewTime(s.Now().UTC().Truncate(time.Second)) }

// commit stores one change of an object; before is nil if it is new, after if it is removed. It owns after.
func (s *Server) commit(k Kind, before, after client.Object) {
	s.revision++
	if after == nil {
		at, _ := s.search(k, before.GetName())
		s.objects[k] = slices.Delete(s.objects[k], at, at+1)
	} else {
		after.SetResourceVersion(strconv.FormatInt(s.revision, 10))
		if at, found := s.search(k, after.GetName()); found {
			s.objects[k][at] = after
		} else {
			s.objects[k] = slices.Insert(s.objects[k], at, after)
		}
	}
	if s.OnCommit != nil {
		s.OnCommit(Change{Kind: k, Revision: s.revision, At: s.Now(), Before: before, After: after})
	}
}

// Kind is one of the kinds that the server stores.
type Kind int

const (
	// Schedules are SnapshotSchedules: a custom resource with a status subresource.
	Schedules Kind = iota
	// Claims are PersistentVolumeClaims.
	Claims
	// Snapshots are VolumeSnapshots: a custom resource with a status subresource.
	Snapshots
	// Classes are VolumeSnapshotClasses, of which nobody creates any.
	Classes
	// Kinds is how many there are.
	Kinds
)

var gvks = [Kinds]schema.GroupVersionKind{
	v1alpha1.GroupVersion.WithKind("SnapshotSchedule"),
	corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"),
	snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshotClass"),
}

// GroupVersionKind is what objects of the kind say of themselves.
func (k Kind) GroupVersionKind() schema.GroupVersionKind { return gvks[k] }

// Resource is the kind's resource, as in requests and RBAC.
func (k Kind) Resource() schema.GroupResource {
	plural := map[bool]string{false: "s", true: "es"}[k == Classes]
	return schema.GroupResource{Group: gvks[k].Group, Resource: strings.ToLower(gvks[k].Kind) + plural}
}

// newObject returns an object of a kind without content.
func (k Kind) newObject() client.Object {
	o, err := cluster.Scheme.New(gvks[k])
	must(err)
	return o.(client.Object)
}

// KindOf returns the kind of an object. It panics if the kind is not stored.
func KindOf(o client.Object) Kind {
	gvk, err := apiutil.GVKForObject(o, cluster.Scheme)
	must(err)
	at := slices.Index(gvks[:], gvk)
	if at < 0 {
		panic(fmt.Sprintf("a %s is not stored", gvk.Kind))
	}
	return Kind(at)
}

func clone(o client.Object) client.Object { return o.DeepCopyObject().(client.Object) }
