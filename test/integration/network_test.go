// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// request is a request of the operator.
type request struct {
	method, path, query, body string
	// answer is the status code.
	answer int
}

// network is the transport between the operator and the API server.
type network struct {
	base http.RoundTripper
	// ahead is how far the API server's clock appears to be ahead of the real time.
	ahead atomic.Int64
	// fail returns the status code to answer instead of the API server; zero passes the request on.
	fail func(*http.Request) int

	mu       sync.Mutex
	requests []request
	frozen   map[string]chan struct{} // by resource
}

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := request{method: r.Method, path: r.URL.Path, query: r.URL.RawQuery, body: bodyOf(r)}
	if n.fail != nil {
		if code := n.fail(r); code != 0 {
			sent.answer = code
			n.record(sent)
			return failure(r, code), nil
		}
	}
	resp, err := n.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	sent.answer = resp.StatusCode
	n.record(sent)
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		resp.Header.Set("Date", date.Add(time.Duration(n.ahead.Load())).UTC().Format(http.TimeFormat))
	}
	if sent.isWatch() {
		resp.Body = &watchBody{ReadCloser: resp.Body, network: n, resource: sent.resource(), done: r.Context().Done()}
	}
	return resp, nil
}

func bodyOf(r *http.Request) string {
	if r.GetBody == nil {
		return ""
	}
	body, err := r.GetBody()
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(body)
	return string(text)
}

func failure(r *http.Request, code int) *http.Response {
	return &http.Response{
		StatusCode: code, ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/plain"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}},
		Body:   io.NopCloser(bytes.NewBufferString("failed by the test")),
	}
}

func (r request) isWatch() bool { return strings.Contains(r.query, "watch=true") }

// resource returns the plural in the path.
func (r request) resource() string {
	for _, resource := range []string{"volumesnapshots", "persistentvolumeclaims", "snapshotschedules", "clustersnapshotschedules", "events"} {
		if strings.Contains(r.path, "/"+resource) {
			return resource
		}
	}
	return ""
}

func (n *network) record(r request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests = append(n.requests, r)
}

// find returns the requests so far that match.
func (n *network) find(match func(request) bool) (all []request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.requests {
		if match(r) {
			all = append(all, r)
		}
	}
	return all
}

// count returns the number of requests of a method for a resource, except watches.
func (n *network) count(method, resource string) int {
	return len(n.find(func(r request) bool { return r.method == method && r.resource() == resource && !r.isWatch() }))
}

// freeze holds back the watch events of a resource until thaw, so that the operator's cache is stale.
func (n *network) freeze(resource string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.frozen == nil {
		n.frozen = map[string]chan struct{}{}
	}
	n.frozen[resource] = make(chan struct{})
}

func (n *network) thaw(resource string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.frozen[resource])
	delete(n.frozen, resource)
}

// frozenUntil returns a channel that thaw closes; nil if the resource is not frozen.
func (n *network) frozenUntil(resource string) chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.frozen[resource]
}

// watchBody is the body of a watch.
type watchBody struct {
	io.ReadCloser
	network  *network
	resource string
	done     <-chan struct{}
}

// Read holds back what it has read while the resource is frozen.
func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if thawed := b.network.frozenUntil(b.resource); thawed != nil {
		select {
		case <-thawed:
		case <-b.done:
		}
	}
	return n, err
}

func isSnapshotCreate(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/volumesnapshots")
}
