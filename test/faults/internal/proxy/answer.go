// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// answer is what is sent back.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// refusal is what an API server would say; ok is false for deeds that are no
// refusals.
func refusal(do plan.Deed, q request) (a answer, ok bool) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Details:  &metav1.StatusDetails{Name: q.name, Group: q.group, Kind: q.resource},
	}
	what := fmt.Sprintf("%s.%s %q", q.resource, q.group, q.name)
	header := http.Header{}
	switch do {
	case plan.Conflict:
		status.Code, status.Reason = http.StatusConflict, metav1.StatusReasonConflict
		status.Message = "Operation cannot be fulfilled on " + what + ": the object has been modified"
	case plan.TooMany:
		status.Code, status.Reason = http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests
		status.Message = "the server is busy, try again"
		status.Details.RetryAfterSeconds = 1
		header.Set("Retry-After", "1")
	case plan.Internal:
		status.Code, status.Reason = http.StatusInternalServerError, metav1.StatusReasonInternalError
		status.Message = "Internal error occurred: injected"
	case plan.Unavailable:
		status.Code, status.Reason = http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable
		status.Message = "the server is currently unable to handle the request"
	case plan.TimedOut:
		status.Code, status.Reason = http.StatusGatewayTimeout, metav1.StatusReasonTimeout
		status.Message = "Timeout: request did not complete within the allotted timeout"
	case plan.Quota:
		status.Code, status.Reason = http.StatusForbidden, metav1.StatusReasonForbidden
		status.Message = what + " is forbidden: exceeded quota: snapshots, requested: 1, used: 9, limited: 9"
	case plan.Terminating:
		status.Code, status.Reason = http.StatusForbidden, metav1.StatusReasonForbidden
		status.Message = what + " is forbidden: unable to create new content because the namespace is being terminated"
		status.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating", Message: "namespace is being terminated"}}
	case plan.Gone, plan.DropGone:
		status.Code, status.Reason = http.StatusGone, metav1.StatusReasonExpired
		status.Message = "too old resource version"
	default:
		return answer{}, false
	}
	header.Set("Content-Type", "application/json")
	body, err := json.Marshal(status)
	if err != nil {
		panic(err) // a Status has nothing that JSON has not
	}
	return answer{code: int(status.Code), header: header, body: body}, true
}

func notFound(q request) answer {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: fmt.Sprintf("%s.%s %q not found", q.resource, q.group, q.name),
		Details: &metav1.StatusDetails{Name: q.name, Group: q.group, Kind: q.resource},
	}
	body, err := json.Marshal(status)
	if err != nil {
		panic(err) // a Status has nothing that JSON has not
	}
	return answer{code: http.StatusNotFound, header: http.Header{"Content-Type": {"application/json"}}, body: body}
}

// denied tells whether an answer is RBAC's.
func (a answer) denied() bool {
	if a.code != http.StatusForbidden {
		return false
	}
	m := metaOf(a.body)
	return m.Reason == string(metav1.StatusReasonForbidden) && rbac.MatchString(m.Message)
}
