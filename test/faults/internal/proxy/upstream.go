// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

func (e *Endpoint) forward(r *http.Request, q request, i int) response {
	if e.proxy.Always != nil {
		action := e.proxy.Always(q.point)
		if a, ok := refusal(action, q); ok {
			return a
		}
		switch action {
		case plan.Delay:
			sleep(r.Context(), delay)
		case plan.Hang:
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}
	}
	if e.frozen() && q.verb == "list" && q.fillsCache() {
		return e.forwardAt(r, q, i, e.treatment.Frozen)
	}
	return e.roundTrip(r, q, i)
}

// forwardAt asks the API server for a list as it was at a revision.
func (e *Endpoint) forwardAt(r *http.Request, q request, i int, revision int64) response {
	q.query = listAt(q.query, revision)
	return e.roundTrip(r, q, i)
}

func (e *Endpoint) roundTrip(r *http.Request, q request, i int) response {
	// The request reaches the API server even if the operator dies meanwhile.
	out := e.upstream(r, q).WithContext(context.WithoutCancel(r.Context()))
	resp, err := e.proxy.Transport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	a := response{code: resp.StatusCode, header: resp.Header, body: body}
	e.proxy.recordAnswer(i, q, a)
	return a
}

// upstream returns the request to the API server: confined to the namespace, and
// answered in JSON, which the proxy can read.
func (e *Endpoint) upstream(r *http.Request, q request) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = e.proxy.Upstream.Scheme, e.proxy.Upstream.Host
	out.URL.Path = q.confined(r.URL.Path, e.proxy.Namespace)
	out.URL.RawPath = ""
	out.URL.RawQuery = q.confinedQuery(e.proxy.Namespace)
	out.Host, out.RequestURI = "", ""
	out.Body = io.NopCloser(bytes.NewReader(q.body))
	out.ContentLength = int64(len(q.body))
	out.Header.Del("Accept-Encoding")
	out.Header.Del("Connection")
	out.Header.Set("Authorization", "Bearer "+e.proxy.Token)
	out.Header.Set("Accept", onlyJSON(r.Header.Get("Accept")))
	return out
}

func onlyJSON(accept string) string {
	var kept []string
	for part := range strings.SplitSeq(accept, ",") {
		if strings.Contains(part, "application/json") {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return "application/json"
	}
	return strings.Join(kept, ",")
}

// write sends a response, with the Date that the operator is to believe.
func (e *Endpoint) write(w http.ResponseWriter, q request, i int, a response) {
	date := e.copyHeader(w, a.header)
	e.proxy.recordDelivered(i, q, a, date)
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body)
}

// copyHeader returns the Date that it sends; zero if that is not a time.
func (e *Endpoint) copyHeader(w http.ResponseWriter, from http.Header) time.Time {
	header := w.Header()
	for key, values := range from {
		if key != "Content-Length" && key != "Date" && key != "Transfer-Encoding" {
			header[key] = values
		}
	}
	truth := from.Get("Date")
	if truth == "" {
		truth = time.Now().UTC().Format(http.TimeFormat)
	}
	header["Date"] = nil // keeps net/http from adding its own
	value, ok := e.proxy.dateHeader(truth)
	if !ok {
		return time.Time{}
	}
	header.Set("Date", value)
	date, err := http.ParseTime(value)
	if err != nil {
		return time.Time{}
	}
	return date
}

// finishList leaves objects out of a list if its fault says so, and records what
// the list means for the operator's cache.
func (e *Endpoint) finishList(q request, body []byte, f *plan.Fault) ([]byte, error) {
	leavesOut := f != nil && (f.Action == plan.Empty || f.Action == plan.Truncated)
	if leavesOut {
		var err error
		if body, err = filterItems(body, func(n int) bool { return includes(f, n) }); err != nil {
			return nil, err
		}
	}
	if !q.fillsCache() {
		return body, nil
	}
	if leavesOut {
		e.markIncomplete(q.resource)
	}
	if metaOf(body).Metadata.Continue == "" {
		e.markSynced(q.resource)
	}
	return body, nil
}

func filterItems(body []byte, keep func(n int) bool) ([]byte, error) {
	var list map[string]json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(list["items"], &items); err != nil {
		return nil, err
	}
	kept := items[:0]
	for n, item := range items {
		if keep(n) {
			kept = append(kept, item)
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	list["items"] = text
	return json.Marshal(list)
}

// includes reports whether a list with a fault includes its n-th object.
func includes(f *plan.Fault, n int) bool {
	return f == nil || f.Action != plan.Empty && (f.Action != plan.Truncated || n%2 == 1)
}
