// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// response is what the operator receives.
type response struct {
	code   int
	header http.Header
	body   []byte
}

// read returns the answer of the API server.
func read(resp *http.Response) (response, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	resp.Header.Del("Content-Length")
	return response{code: resp.StatusCode, header: resp.Header, body: body}, err
}

func (a response) toHTTP(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: a.code, Status: http.StatusText(a.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}
}

// refusal returns what an API server answers when it refuses a request; ok is false for actions that are no refusals.
func refusal(action plan.Action, q *request) (a response, ok bool) {
	of := schema.GroupResource{Group: q.APIGroup, Resource: q.Resource}
	var refused *apierrors.StatusError
	switch action {
	case plan.Internal:
		refused = apierrors.NewInternalError(errors.New("injected"))
	case plan.Unavailable:
		refused = apierrors.NewServiceUnavailable("the server is currently unable to handle the request")
	case plan.Quota:
		refused = apierrors.NewForbidden(of, q.Name, errors.New("exceeded quota: snapshots, requested: 1, used: 9, limited: 9"))
	case plan.Uninstalled:
		refused = apierrors.NewNotFound(of, q.Name)
	case plan.Gone:
		refused = apierrors.NewResourceExpired("too old resource version")
	default:
		return response{}, false
	}
	status := refused.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	text, err := json.Marshal(status)
	if err != nil {
		panic(err)
	}
	return response{code: int(status.Code), header: http.Header{"Content-Type": {"application/json"}}, body: text}, true
}

// rbacDenied matches the API server's message when no role allows a request.
var rbacDenied = regexp.MustCompile(`User ".*" cannot [a-z]+ resource`)

// denied returns whether RBAC refused the request.
func (a response) denied() bool {
	return a.code == http.StatusForbidden && rbacDenied.MatchString(headOf(a.body).Message)
}
