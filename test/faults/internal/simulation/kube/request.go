// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Request is a request as the API server understands it.
type Request struct {
	Kind                    Kind
	Verb, Name, Subresource string
	Body                    []byte
	// metadata is set if only the objects' metadata is requested.
	metadata bool
	selector labels.Selector
	// from is the resourceVersion after which a watch begins.
	from int64
}

// path has the resource, the name and the subresource.
var path = regexp.MustCompile(`^/api(?:s/[^/]+)?/[^/]+(?:/namespaces/[^/]+)?/([^/]+)(?:/([^/]+))?(?:/([^/]+))?$`)

// ParseRequest reads a request.
func ParseRequest(r *http.Request) (q Request, err error) {
	parts := path.FindStringSubmatch(r.URL.Path)
	if parts == nil {
		return q, fmt.Errorf("unexpected path %s", r.URL.Path)
	}
	q = Request{Name: parts[2], Subresource: parts[3], metadata: strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")}
	for q.Kind.Resource().Resource != parts[1] {
		if q.Kind++; q.Kind == Kinds {
			return q, fmt.Errorf("unexpected resource %s", parts[1])
		}
	}
	query := r.URL.Query()
	switch {
	case r.Method != http.MethodGet:
		q.Verb = map[string]string{http.MethodPost: "create", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
	case query.Has("watch"):
		q.Verb = "watch"
		if q.from, err = strconv.ParseInt(query.Get("resourceVersion"), 10, 64); err != nil {
			return q, err
		}
	case q.Name == "":
		q.Verb = "list"
	default:
		q.Verb = "get"
	}
	if q.selector, err = labels.Parse(query.Get("labelSelector")); err != nil || r.Body == nil {
		return q, err
	}
	if q.Body, err = io.ReadAll(r.Body); err == nil && q.Verb == "create" {
		var o metav1.PartialObjectMetadata
		err = json.Unmarshal(q.Body, &o)
		q.Name = o.Name
	}
	return q, err
}

// IsWrite returns whether a request may change something.
func (q Request) IsWrite() bool {
	return slices.Contains([]string{"create", "patch", "delete"}, q.Verb)
}

// FillsCache returns whether a list or watch is an informer's.
func (q Request) FillsCache() bool { return (q.Verb == "list" || q.Verb == "watch") && !q.metadata }

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
		return metav1.Status{TypeMeta: statusMeta, Status: metav1.StatusSuccess}, s.Delete(q.Kind, q.Name, options)
	case "patch":
		return q.present(s.Update(q.Kind, q.Name, q.Subresource, func(o client.Object) { merge(o, q.Body) }))
	}
	return nil, apierrors.NewMethodNotSupported(q.Kind.Resource(), q.Verb)
}

var (
	statusMeta  = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	partialMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: metav1.SchemeGroupVersion.String()}
)

// present returns an object as it is written to the client.
func (q Request) present(o client.Object, err error) (runtime.Object, error) {
	if err != nil || !q.metadata {
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
	if q.metadata {
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

// Respond returns the response with an answer, or with an error that an API server returns.
func Respond(r *http.Request, date time.Time, answer any, err error) *http.Response {
	header := http.Header{"Content-Type": {"application/json"}, "Date": {date.UTC().Format(http.TimeFormat)}}
	if err != nil {
		status := statusOf(err)
		if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
			header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
		}
		answer = status
	}
	body, encodeErr := json.Marshal(answer)
	must(encodeErr)
	return &http.Response{
		StatusCode: CodeOf(err), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// CodeOf returns the status code of a response.
func CodeOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	return int(statusOf(err).Code)
}

func statusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		panic(fmt.Sprintf("not an answer of an API server: %v", err))
	}
	s := status.Status()
	s.TypeMeta = statusMeta
	return s
}
