// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// maxPageBytes bounds the body of a page. A page of 500 ordinary objects has a
// quarter of it; one of the largest objects that etcd accepts would have 750 MB.
const maxPageBytes = 4 << 20

// BoundPages bounds the bytes of a page: it asks for half as many objects as long
// as a page is larger, and for twice as many with the next page. A client sees a
// page with fewer objects than it asked for, as the API allows. A single object
// passes whatever its size.
func BoundPages(base http.RoundTripper) http.RoundTripper { return &boundedPages{base: base} }

type boundedPages struct {
	base http.RoundTripper
	// limits has the limit of the last page by path, where it was less than asked for.
	limits sync.Map
}

var _ utilnet.RoundTripperWrapper = &boundedPages{}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (b *boundedPages) WrappedRoundTripper() http.RoundTripper { return b.base }

// RoundTrip implements http.RoundTripper.
func (b *boundedPages) RoundTrip(r *http.Request) (*http.Response, error) {
	query, path := r.URL.Query(), r.URL.Path
	asked, err := strconv.Atoi(query.Get("limit"))
	if err != nil || asked <= 1 || r.Method != http.MethodGet || query.Has("watch") {
		return b.base.RoundTrip(r)
	}
	limit := asked
	if last, ok := b.limits.Load(path); ok {
		limit = min(asked, 2*last.(int))
	}
	for ; ; limit /= 2 {
		query.Set("limit", strconv.Itoa(limit))
		page := r.Clone(r.Context())
		page.URL.RawQuery = query.Encode()
		resp, err := b.base.RoundTrip(page)
		if err != nil {
			return nil, err
		}
		var start []byte
		if limit > 1 {
			// The client gets an error of this read from its own next one.
			start, _ = io.ReadAll(io.LimitReader(resp.Body, maxPageBytes+1))
		}
		if len(start) > maxPageBytes {
			_ = resp.Body.Close()
			continue
		}
		if limit < asked {
			b.limits.Store(path, limit)
		} else {
			b.limits.Delete(path)
		}
		resp.Body = body{io.MultiReader(bytes.NewReader(start), resp.Body), resp.Body}
		return resp, nil
	}
}

// body is a body of which a part was read.
type body struct {
	io.Reader
	io.Closer
}
