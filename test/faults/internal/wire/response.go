// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// response is what the operator, or the proxy, receives.
type response struct {
	code   int
	header http.Header
	body   []byte
}

// refusals are the errors of an API server; %s stands for the object.
var refusals = map[plan.Action]metav1.Status{
	plan.Conflict: {Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
		Message: "Operation cannot be fulfilled on %s: the object has been modified"},
	plan.TooMany: {Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests,
		Message: "too many requests for %s, try again later", Details: &metav1.StatusDetails{RetryAfterSeconds: 1}},
	plan.Internal: {Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: "Internal error occurred: injected at %s"},
	plan.Unavailable: {Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
		Message: "the server is currently unable to handle the request for %s"},
	plan.TimedOut: {Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout,
		Message: "Timeout: request for %s did not complete within the allotted timeout"},
	plan.Quota: {Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: "%s is forbidden: exceeded quota: snapshots, requested: 1, used: 9, limited: 9"},
	plan.Terminating: {Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: "%s is forbidden: unable to create new content because the namespace is being terminated",
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
			{Type: corev1.NamespaceTerminatingCause, Message: "namespace is being terminated"},
		}}},
	plan.Uninstalled: {Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource (%s)"},
	plan.Gone: {Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old resource version of %s"},
}

// refusal returns what an API server answers when it refuses a request; ok is false
// for actions that are no refusals.
func refusal(action plan.Action, q request) (a response, ok bool) {
	status, ok := refusals[action]
	if !ok {
		return response{}, false
	}
	a = statusResponse(q, status)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		a.header.Set("Retry-After", fmt.Sprint(d.RetryAfterSeconds))
	}
	return a, true
}

func notFound(q request) response {
	return statusResponse(q, metav1.Status{Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: "%s not found"})
}

func statusResponse(q request, status metav1.Status) response {
	var details metav1.StatusDetails
	if status.Details != nil {
		details = *status.Details
	}
	details.Name, details.Group, details.Kind = q.name, q.group, q.resource
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	status.Status, status.Details = metav1.StatusFailure, &details
	status.Message = fmt.Sprintf(status.Message, fmt.Sprintf("%s.%s %q", q.resource, q.group, q.name))
	body, err := json.Marshal(status)
	if err != nil {
		panic(err) // every field of a Status can be encoded
	}
	return response{code: int(status.Code), header: http.Header{"Content-Type": {"application/json"}}, body: body}
}

// denied reports whether RBAC refused the request.
func (a response) denied() bool {
	if a.code != http.StatusForbidden {
		return false
	}
	m := metaOf(a.body)
	return m.Reason == string(metav1.StatusReasonForbidden) && rbacDenied.MatchString(m.Message)
}
