// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube is an API server in memory, without a clock, a goroutine or a random number of its own. It implements what
// SnapshotSchedule depends on, in one namespace: resourceVersions, UIDs, generations, preconditions, finalizers, status subresources and
// garbage collection. Stored objects are immutable: every write stores a new one. rules_test.go compares it with a real API server.
//
//	server.go    its kinds and its store; requests over HTTP
//	write.go     creates, updates and patches; deletes and the garbage collector
package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/httpapi"
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
	// Groups are VolumeGroupSnapshots: a custom resource with a status subresource.
	Groups
	// GroupClasses are VolumeGroupSnapshotClasses, of which nobody creates any.
	GroupClasses
	// Kinds is how many there are.
	Kinds
)

var gvks = [Kinds]schema.GroupVersionKind{
	v1alpha1.GroupVersion.WithKind("SnapshotSchedule"),
	corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"),
	snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshotClass"),
	groupv1.SchemeGroupVersion.WithKind("VolumeGroupSnapshot"),
	groupv1.SchemeGroupVersion.WithKind("VolumeGroupSnapshotClass"),
}

// IsClass returns whether the kind is one of classes, which have no namespace.
func (k Kind) IsClass() bool { return k == Classes || k == GroupClasses }

// GroupVersionKind is what objects of the kind say of themselves.
func (k Kind) GroupVersionKind() schema.GroupVersionKind { return gvks[k] }

// Resource is the kind's resource, as in requests and RBAC.
func (k Kind) Resource() schema.GroupResource {
	plural := map[bool]string{false: "s", true: "es"}[k.IsClass()]
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

// Request is a request for objects of a kind.
type Request struct {
	httpapi.Request
	Kind     Kind
	selector labels.Selector
	// from is the resourceVersion after which a watch begins.
	from int64
}

// ParseRequest reads a request. For a kind that the server does not store, the error is the server's answer.
func ParseRequest(r *http.Request) (q Request, err error) {
	if q.Request, err = httpapi.Read(r); err != nil {
		return q, err
	}
	for q.Kind.Resource().Resource != q.Resource {
		if q.Kind++; q.Kind == Kinds {
			return q, apierrors.NewNotFound(schema.GroupResource{Resource: q.Resource}, q.Name) // as for kinds that are not installed
		}
	}
	if q.selector, err = labels.Parse(q.LabelSelector); err == nil && q.Verb == "watch" {
		q.from, err = strconv.ParseInt(r.URL.Query().Get("resourceVersion"), 10, 64)
	}
	return q, err
}

// FillsCache returns whether a list or watch is an informer's.
func (q Request) FillsCache() bool { return (q.Verb == "list" || q.Verb == "watch") && !q.Metadata }

// Serve answers a request that is no watch.
func (s *Server) Serve(q Request) (answer any, err error) {
	switch q.Verb {
	case "get":
		return q.present(s.Get(q.Kind, q.Name))
	case "list":
		return q.List(s.objects[q.Kind], s.revision), nil
	case "create":
		o := q.Kind.newObject()
		if err := json.Unmarshal(q.Body, o); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return q.present(s.Create(o))
	case "delete":
		var options metav1.DeleteOptions
		if err := json.Unmarshal(q.Body, &options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}, s.Delete(q.Kind, q.Name, options)
	case "patch":
		var failed error
		o, err := s.Update(q.Kind, q.Name, q.Subresource, func(o client.Object) { failed = applyPatch(o, q.Body) })
		if err == nil {
			err = failed
		}
		return q.present(o, err)
	}
	return nil, apierrors.NewMethodNotSupported(q.Kind.Resource(), q.Verb)
}

// PartialMeta is the kind of an object without spec and status.
var PartialMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: metav1.SchemeGroupVersion.String()}

// present returns an object as it is written to the client.
func (q Request) present(o client.Object, err error) (runtime.Object, error) {
	if err != nil || !q.Metadata {
		return o, err
	}
	partial := meta.AsPartialObjectMetadata(o)
	partial.TypeMeta = PartialMeta
	return partial, nil
}

// List answers a list with those objects that match.
func (q Request) List(objects []client.Object, revision int64) *metav1.List {
	list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatInt(revision, 10)}}
	list.APIVersion, list.Kind = gvks[q.Kind].ToAPIVersionAndKind()
	if q.Metadata {
		list.TypeMeta = PartialMeta
	}
	list.Kind += "List"
	for _, o := range objects {
		if q.matches(o) {
			item, _ := q.present(o, nil)
			list.Items = append(list.Items, runtime.RawExtension{Object: item})
		}
	}
	return list
}

func (q Request) matches(o client.Object) bool {
	return o != nil && q.selector.Matches(labels.Set(o.GetLabels()))
}

// Event returns the event that a watch shows for a change; ok is false if it shows none.
func (q Request) Event(c Change) (event metav1.WatchEvent, ok bool) {
	if c.Kind != q.Kind || c.Revision <= q.from {
		return event, false
	}
	shown, was, is := c.After, q.matches(c.Before), q.matches(c.After)
	switch {
	case is && was:
		event.Type = "MODIFIED"
	case is:
		event.Type = "ADDED"
	case was:
		event.Type = "DELETED"
	default:
		return event, false
	}
	if shown == nil { // the last state, with the revision of the removal
		shown = clone(c.Before)
		shown.SetResourceVersion(strconv.FormatInt(c.Revision, 10))
	}
	event.Object.Object, _ = q.present(shown, nil)
	return event, true
}
