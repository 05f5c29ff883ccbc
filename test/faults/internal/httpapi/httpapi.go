// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpapi reads requests to an API server and writes its answers.
package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// ErrDown is what an operator sees of the network after its end, or where an answer is lost.
var ErrDown = errors.New("read tcp 127.0.0.1:40000->127.0.0.1:6443: connection reset by peer")

// Request is a request with the attributes that RBAC sees. The name of a new object is that in its body.
type Request struct {
	*apirequest.RequestInfo
	Body []byte
	// Metadata is set if only objects' metadata is requested.
	Metadata bool
}

// attributes parses URLs as the API server does.
var attributes = apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// Read reads a request and its body.
func Read(r *http.Request) (q Request, err error) {
	if q.RequestInfo, err = attributes.NewRequestInfo(r); err != nil {
		return q, err
	}
	q.Metadata = strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
	if r.Body != nil {
		defer r.Body.Close()
		q.Body, err = io.ReadAll(r.Body)
	}
	if q.Verb == "create" && q.Name == "" {
		var o metav1.PartialObjectMetadata
		_ = json.Unmarshal(q.Body, &o)
		q.Name = o.Name
	}
	return q, err
}

// IsWrite returns whether a request may change something.
func (q Request) IsWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, q.Verb)
}

// Answer returns the response with an answer, or with an error that an API server returns.
func Answer(r *http.Request, answer any, err error) *http.Response {
	header := http.Header{"Content-Type": {"application/json"}}
	if err != nil {
		status := statusOf(err)
		if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
			header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
		}
		answer = status
	}
	body, encodeErr := json.Marshal(answer)
	if encodeErr != nil {
		panic(encodeErr)
	}
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
	s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return s
}

// Sleep waits, unless the context ends before.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
