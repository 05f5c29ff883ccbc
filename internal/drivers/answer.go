// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package drivers

import (
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// answer is the error of a driver in the message of an event, or in that of a content.
var answer = regexp.MustCompile(`(?s)rpc error: code = (\w+) desc = (.*)`)

// transient are the codes of a driver that could not try.
var transient = []string{
	"ResourceExhausted", "Unavailable", "DeadlineExceeded", "Aborted", "Canceled", "Unauthenticated", "PermissionDenied",
}

// Answer returns the gRPC code and the words of a driver in a message; not ok if it has none.
func Answer(message string) (code, words string, ok bool) {
	if m := answer.FindStringSubmatch(message); m != nil {
		return m[1], m[2], true
	}
	return "", "", false
}

// Transient returns whether a driver that answers with a code could not try.
func Transient(code string) bool { return slices.Contains(transient, code) }

// EventTime returns when an event was last seen, by whatever API it was written.
func EventTime(e *corev1.Event) time.Time {
	at := e.CreationTimestamp.Time
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	for _, t := range []time.Time{e.EventTime.Time, e.LastTimestamp.Time} {
		if t.After(at) {
			at = t
		}
	}
	return at
}
