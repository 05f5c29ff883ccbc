// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"path"
	"regexp"
	"slices"
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

	mu       sync.Mutex
	requests []request
	faults   []*fault
	crash    *crash
}

// crash is the end of the network at a write: of its operator, nothing arrives any more.
type crash struct {
	// at is the number of the write, from 1 on. It is lost or, if it is committed, its answer is.
	at        int
	committed bool
	// down is closed when it happens.
	down chan struct{}
}

var errDown = errors.New("the network is down")

// crashes returns whether the network is down from now on, and whether it was before this request.
func (n *network) crashes(r request) (now, before bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.crash
	if c == nil {
		return false, false
	}
	if c.at == 0 {
		return true, true
	}
	if r.method == http.MethodGet || !slices.ContainsFunc([]string{r.path, path.Dir(r.path)}, func(of string) bool {
		return slices.Contains([]string{"volumegroupsnapshots", "volumesnapshots", "snapshotschedules"}, path.Base(of))
	}) {
		return false, false // a read, an event or a status
	}
	if c.at--; c.at > 0 {
		return false, false
	}
	close(c.down)
	return true, !c.committed
}

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := request{method: r.Method, path: r.URL.Path, query: r.URL.RawQuery, body: bodyOf(r)}
	down, before := n.crashes(sent)
	if before {
		return nil, errDown
	}
	if f := n.faultOf(sent); f != nil {
		if f.code == hang {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		sent.answer = f.code
		n.record(sent)
		return failure(r, f.code), nil
	}
	resp, err := n.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if down {
		_ = resp.Body.Close()
		return nil, errDown
	}
	sent.answer = resp.StatusCode
	n.record(sent)
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		resp.Header.Set("Date", date.Add(time.Duration(n.ahead.Load())).UTC().Format(http.TimeFormat))
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

// hang stands for no answer: the request ends when the client gives up.
const hang = 0

// fault is the answer to requests instead of the API server's: a status code, or hang.
type fault struct {
	match func(request) bool
	code  int
	once  bool
}

// fail answers the requests that match with a status code, until heal.
func (n *network) fail(code int, match func(request) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = append(n.faults, &fault{match: match, code: code})
}

// failNext is fail for one request.
func (n *network) failNext(code int, match func(request) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = append(n.faults, &fault{match: match, code: code, once: true})
}

// heal ends all faults.
func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = nil
}

func (n *network) faultOf(r request) *fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.faults, func(f *fault) bool { return f.match(r) })
	if i < 0 {
		return nil
	}
	f := n.faults[i]
	if f.once {
		n.faults = slices.Delete(n.faults, i, i+1)
	}
	return f
}

// to matches requests by their method and a regular expression of the path. An empty method is any.
func to(method, path string) func(request) bool {
	pattern := regexp.MustCompile(path)
	return func(r request) bool { return (method == "" || r.method == method) && pattern.MatchString(r.path) }
}

var (
	snapshotCreates = to(http.MethodPost, "/volumesnapshots$")
	// snapshotAPI matches what a server without the CRDs of the external-snapshotter does not know.
	snapshotAPI = to("", "^/apis/snapshot.storage.k8s.io")
)

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

// deletes returns the number of attempts to delete a snapshot.
func (n *network) deletes() int { return n.count(http.MethodDelete, "volumesnapshots") }
