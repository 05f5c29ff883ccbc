// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// request is an HTTP request with the attributes that RBAC sees.
type request struct {
	verb, group, version, resource, subresource string
	namespace, name                             string
	// path is set for every request; discovery has no resource.
	path string
	// initial is set for a watch that starts with the current objects.
	initial bool
	// metadata is set if only objects' metadata is requested; no cache is filled with it.
	metadata bool
	// neighbor is set for a request in another namespace than the run's. No fault is
	// injected at it, and nothing waits for it.
	neighbor bool
	query    url.Values
	body     []byte
	point    plan.Point
}

// cached are the resources that the operator watches in all namespaces, and sees in
// one; of those that are in none, it sees the object with the name of the run's namespace.
var cached = []string{"snapshotschedules", "persistentvolumeclaims", "volumesnapshots", snapshotClasses, fleets[0], fleets[1]}

const snapshotClasses = "volumesnapshotclasses"

// fleets are the resources that are watched for ClusterSnapshotSchedules.
var fleets = []string{"clustersnapshotschedules", "namespaces"}

func parse(r *http.Request, body []byte) request {
	q := request{query: r.URL.Query(), body: body, path: r.URL.Path}
	q.metadata = strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		q.version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		q.group, q.version, parts = parts[1], parts[2], parts[3:]
	default:
		q.verb = strings.ToLower(r.Method)
		return q
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		q.namespace, parts = parts[1], parts[2:]
	}
	q.resource = parts[0]
	if len(parts) > 1 {
		q.name = parts[1]
	}
	if len(parts) > 2 {
		q.subresource = parts[2]
	}
	q.initial = q.query.Get("sendInitialEvents") == "true"
	q.verb = verb(r.Method, q)
	if q.verb == "create" && q.name == "" {
		q.name = metaOf(body).Metadata.Name
	}
	return q
}

func verb(method string, q request) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if q.name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	switch {
	case isTrue(q.query.Get("watch")):
		return "watch"
	case q.name == "":
		return "list"
	}
	return "get"
}

func isTrue(s string) bool { return s == "true" || s == "1" }

// resourcePath returns the resource as RBAC writes it.
func (q request) resourcePath() string {
	if q.subresource == "" {
		return q.resource
	}
	return q.resource + "/" + q.subresource
}

func (q request) isWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, q.verb)
}

// fillsCache reports whether a list or watch is an informer's, in the run's namespace. Of
// namespaces it reads metadata.
func (q request) fillsCache() bool {
	return (q.verb == "list" || q.verb == "watch") && (!q.metadata || q.resource == fleets[1] && !q.isProbe()) && !q.neighbor &&
		slices.Contains(cached, q.resource)
}

// isProbe reports whether a list only finds out whether the resource can be listed.
func (q request) isProbe() bool { return q.query.Get("limit") == "1" }

// isFleets reports whether a request is for ClusterSnapshotSchedules, or watches namespaces
// for them.
func (q request) isFleets() bool {
	return q.resource == fleets[0] || q.resource == fleets[1] && (q.verb == "list" || q.verb == "watch")
}

// isClusterScoped reports whether a watched resource is in no namespace.
func (q request) isClusterScoped() bool {
	return q.resource == snapshotClasses || slices.Contains(fleets, q.resource)
}

// isActivity reports whether a run waits for the end of the request.
func (q request) isActivity() bool { return q.verb != "watch" && !q.neighbor }

// isUnpaged reports whether a list asks for all objects at once.
func (q request) isUnpaged() bool {
	return q.verb == "list" && q.resource != "" && q.query.Get("limit") == ""
}

// confined returns the path with the namespace that the operator may see.
func (q request) confined(path, namespace string) string {
	if q.isClusterScoped() {
		return path
	}
	if q.namespace != "" || !slices.Contains(cached, q.resource) || q.name != "" {
		return path
	}
	return strings.TrimSuffix(path, q.resource) + "namespaces/" + namespace + "/" + q.resource
}

// confinedQuery returns the query with the only name that a list or watch of objects in
// no namespace may show: that of the run's namespace.
func (q request) confinedQuery(namespace string) string {
	if !q.isClusterScoped() || q.name != "" {
		return q.query.Encode()
	}
	query := maps.Clone(q.query)
	query.Set("fieldSelector", "metadata.name="+namespace)
	return query.Encode()
}

// meta is what the proxy reads of an object or a Status.
type meta struct {
	Kind       string     `json:"kind"`
	APIVersion string     `json:"apiVersion"`
	Metadata   objectMeta `json:"metadata"`
	Details    details    `json:"details"`
	Reason     string     `json:"reason"`
	Message    string     `json:"message"`
}

type objectMeta struct {
	Name            string `json:"name"`
	UID             string `json:"uid"`
	ResourceVersion string `json:"resourceVersion"`
	Continue        string `json:"continue"`
}

type details struct {
	UID string `json:"uid"`
}

// What the API server calls an object of which metadata alone was requested.
const (
	metadataKind    = "PartialObjectMetadata"
	metadataVersion = "meta.k8s.io/v1"
)

// asMetadata returns an object as the API server answers a request for its metadata.
func asMetadata(object []byte) []byte {
	var parts map[string]json.RawMessage
	if json.Unmarshal(object, &parts) != nil {
		return object
	}
	text, err := json.Marshal(map[string]any{"kind": metadataKind, "apiVersion": metadataVersion, "metadata": parts["metadata"]})
	if err != nil {
		return object
	}
	return text
}

// metaOf returns the zero meta for text that is not JSON.
func metaOf(text []byte) meta {
	var m meta
	if json.Unmarshal(text, &m) != nil {
		return meta{}
	}
	return m
}
