// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/httpapi"
)

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
		return q.present(s.Update(q.Kind, q.Name, q.Subresource, func(o client.Object) { merge(o, q.Body) }))
	}
	return nil, apierrors.NewMethodNotSupported(q.Kind.Resource(), q.Verb)
}

var partialMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: metav1.SchemeGroupVersion.String()}

// present returns an object as it is written to the client.
func (q Request) present(o client.Object, err error) (runtime.Object, error) {
	if err != nil || !q.Metadata {
		return o, err
	}
	partial := meta.AsPartialObjectMetadata(o)
	partial.TypeMeta = partialMeta
	return partial, nil
}

// List answers a list with those objects that match.
func (q Request) List(objects []client.Object, revision int64) *metav1.List {
	list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatInt(revision, 10)}}
	list.APIVersion, list.Kind = gvks[q.Kind].ToAPIVersionAndKind()
	if q.Metadata {
		list.TypeMeta = partialMeta
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
