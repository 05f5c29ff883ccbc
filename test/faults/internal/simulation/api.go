// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// request is a request of an operator, as the API server understands it.
type request struct {
	verb, subresource, name string
	resource                schema.GroupResource
	// kind is one of the server's; known is false for VolumeSnapshotClasses, of which there are none.
	kind  kube.Kind
	known bool
	// metadata is set if only the objects' metadata is requested.
	metadata bool
	query    url.Values
	body     []byte
}

func parse(r *http.Request) (q request, err error) {
	q = request{query: r.URL.Query(), metadata: strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")}
	if r.Body != nil {
		if q.body, err = io.ReadAll(r.Body); err != nil {
			return q, err
		}
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "apis" {
		q.resource.Group, parts = parts[1], parts[1:]
	}
	parts = parts[2:] // the version
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	parts = append(parts, "", "")
	q.resource.Resource, q.name, q.subresource = parts[0], parts[1], parts[2]
	for k := kube.Schedules; k <= kube.Namespaces; k++ {
		if k.Resource() == q.resource {
			q.kind, q.known = k, true
		}
	}
	switch r.Method {
	case http.MethodGet:
		q.verb = "get"
		if q.query.Get("watch") != "" {
			q.verb = "watch"
		} else if q.name == "" {
			q.verb = "list"
		}
	default:
		q.verb = map[string]string{http.MethodPost: "create", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
	}
	return q, nil
}

func (q request) isWrite() bool {
	return slices.Contains([]string{"create", "patch", "delete"}, q.verb)
}

// fillsCache returns whether a list or watch is an informer's.
func (q request) fillsCache() bool {
	return (q.verb == "list" || q.verb == "watch") && !q.metadata && q.known
}

// serve answers a request that is no watch. A write is judged.
func (l *link) serve(q request) (object any, err error) {
	if !q.isWrite() {
		return l.read(q)
	}
	o := empty(q.kind)
	if q.verb == "create" {
		if err := json.Unmarshal(q.body, o); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		o.SetNamespace(namespace)
		q.name = o.GetName()
	}
	a := judge.Attempt{
		Verb: q.verb, Resource: q.resource.Resource, Subresource: q.subresource, Namespace: namespace, Name: q.name, Body: q.body,
		Started: l.started, Unsynced: slices.Contains(l.shown[:kube.Snapshots+1], 0),
	}
	if _, isLate := l.late(); !isLate {
		a.Sees, a.Read = true, func(resource, name string) bool {
			return min(time.Since(l.reads[resource+"/"+name]), time.Since(l.reads[resource+"/"])) < judge.GuardsWindow
		}
	}
	l.writing = l
	answered := l.judge.Write(context.Background(), a)
	object, err = l.write(q, o)
	answered(codeOf(err))
	if err == nil && q.kind == kube.Snapshots {
		switch q.verb {
		case "create":
			l.created++
		case "delete":
			l.deleted++
		case "patch":
			l.patched++
		}
	}
	return object, err
}

func (l *link) write(q request, o client.Object) (any, error) {
	key := client.ObjectKey{Namespace: namespace, Name: q.name}
	switch q.verb {
	case "create":
		return l.stored(q)(l.server.Create(o))
	case "delete":
		var options metav1.DeleteOptions
		if err := json.Unmarshal(q.body, &options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess},
			l.server.Delete(q.kind, key, options)
	}
	update, last := l.server.Update, l.server.Find(q.kind, key)
	if q.subresource == "status" {
		update = l.server.UpdateStatus
	}
	after, err := update(q.kind, key, func(o client.Object) error { return kube.Merge(o, q.body) })
	if err == nil && after == nil { // its last finalizer is removed
		after = last
	}
	return l.stored(q)(after, err)
}

func (l *link) stored(q request) func(client.Object, error) (any, error) {
	return func(o client.Object, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		return q.present(o), nil
	}
}

func (l *link) read(q request) (any, error) {
	key := client.ObjectKey{Namespace: namespace, Name: q.name}
	if q.kind == kube.Namespaces {
		key.Namespace = ""
	}
	if !q.fillsCache() {
		l.reads[q.resource.Resource+"/"+q.name] = time.Now() // without a name: of all
	}
	if q.verb == "get" {
		return l.stored(q)(l.server.Get(q.kind, key))
	}
	objects, at := []client.Object(nil), len(l.log)
	if q.known {
		objects = l.server.List(q.kind)
	}
	if q.fillsCache() {
		objects, at = l.asOf(q.kind, objects)
		l.show(q.kind, at)
	}
	items, matches := []any{}, q.matcher()
	for _, o := range objects {
		if matches(o) {
			items = append(items, q.present(o))
		}
	}
	gvk := snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshotClass")
	if q.known {
		gvk = q.kind.GroupVersionKind()
	}
	list := map[string]any{
		"kind": gvk.Kind + "List", "apiVersion": gvk.GroupVersion().String(), "items": items,
		"metadata": map[string]string{"resourceVersion": strconv.FormatInt(l.log[at-1].Revision, 10)},
	}
	if q.metadata {
		list["kind"], list["apiVersion"] = "PartialObjectMetadataList", metav1.SchemeGroupVersion.String()
	}
	return list, nil
}

// matcher returns what the query's selector matches.
func (q request) matcher() func(client.Object) bool {
	selector, err := labels.Parse(q.query.Get("labelSelector"))
	must(err)
	return func(o client.Object) bool { return o != nil && selector.Matches(labels.Set(o.GetLabels())) }
}

// present returns an object as it is written to the client, without copying more than its head.
func (q request) present(o client.Object) any {
	if q.metadata {
		m := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: metav1.SchemeGroupVersion.String()}}
		switch o := o.(type) {
		case *v1alpha1.SnapshotSchedule:
			m.ObjectMeta = o.ObjectMeta
		case *corev1.PersistentVolumeClaim:
			m.ObjectMeta = o.ObjectMeta
		case *snapshotv1.VolumeSnapshot:
			m.ObjectMeta = o.ObjectMeta
		case *corev1.Namespace:
			m.ObjectMeta = o.ObjectMeta
		}
		return &m
	}
	var head *metav1.TypeMeta
	var copied any
	var gv schema.GroupVersion
	switch o := o.(type) {
	case *v1alpha1.SnapshotSchedule:
		c := *o
		copied, head, gv = &c, &c.TypeMeta, v1alpha1.GroupVersion
		head.Kind = "SnapshotSchedule"
	case *corev1.PersistentVolumeClaim:
		c := *o
		copied, head, gv = &c, &c.TypeMeta, corev1.SchemeGroupVersion
		head.Kind = "PersistentVolumeClaim"
	case *snapshotv1.VolumeSnapshot:
		c := *o
		copied, head, gv = &c, &c.TypeMeta, snapshotv1.SchemeGroupVersion
		head.Kind = "VolumeSnapshot"
	default:
		panic(fmt.Sprintf("nobody reads a %T", o))
	}
	head.APIVersion = gv.String()
	return copied
}

func empty(k kube.Kind) client.Object {
	return map[kube.Kind]func() client.Object{
		kube.Schedules: func() client.Object { return &v1alpha1.SnapshotSchedule{} },
		kube.Claims:    func() client.Object { return &corev1.PersistentVolumeClaim{} },
		kube.Snapshots: func() client.Object { return &snapshotv1.VolumeSnapshot{} },
	}[k]()
}

// answer writes an object, or an error that an API server answers with.
func (w *world) answer(r *http.Request, object any, err error) *http.Response {
	header, code := http.Header{"Content-Type": {"application/json"}}, codeOf(err)
	header.Set("Date", time.Now().Add(w.dateOff).UTC().Format(http.TimeFormat))
	if err != nil {
		status := apierrors.APIStatus(nil)
		if !asStatus(err, &status) {
			panic(err)
		}
		s := status.Status()
		s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
			header.Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
		}
		object = s
	}
	text, err := json.Marshal(object)
	must(err)
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: header, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}
}
