// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// MaxRequestedClaims is how many PVCs a request may name. A request for more is one for all.
const MaxRequestedClaims = 100

// maxClaimName is the longest name of a PVC; maxRequest is the longest value of a request.
const (
	maxClaimName = 253
	maxRequest   = len("2006-01-02T15:04:05.999999999+00:00") + MaxRequestedClaims*(1+maxClaimName)
)

// Request is the value of AnnotationRequestedAt.
//
// +kubebuilder:object:generate=false
type Request struct {
	// At is the requested time. The zero time is no request.
	At time.Time
	// Claims are the names of the PVCs that are to be snapshotted. None: all of the schedule.
	Claims []string
}

// RequestOf returns the request in the annotations of an object, and why it is malformed; a
// zero Request if there is none, or a malformed one. The error contains nothing of the value,
// which may be any text.
func RequestOf(annotations map[string]string) (Request, error) {
	value, ok := annotations[AnnotationRequestedAt]
	if !ok {
		return Request{}, nil
	}
	if len(value) > maxRequest {
		return Request{}, errTooManyRequested
	}
	text, names, named := strings.Cut(value, " ")
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil && named:
		return Request{}, errNoRequest
	case err != nil:
		return Request{}, errNoTime
	case !named:
		return Request{At: at}, nil
	}
	claims := strings.Split(names, ",")
	if len(claims) > MaxRequestedClaims {
		return Request{}, errTooManyRequested
	}
	if slices.ContainsFunc(claims, func(name string) bool { return !mayBeClaimName(name) }) {
		return Request{}, errNoRequest
	}
	return Request{At: at, Claims: claims}, nil
}

var (
	errNoTime           = errors.New("write an RFC 3339 time such as 2026-01-31T12:00:00Z")
	errNoRequest        = errors.New("write an RFC 3339 time, a space and the names of PVCs, such as 2026-01-31T12:00:00Z data-0,data-1")
	errTooManyRequested = errors.New("it names more than 100 PVCs; leave out the names to request a snapshot of all PVCs")
)

// mayBeClaimName returns whether an API server accepts the name: a DNS subdomain.
func mayBeClaimName(name string) bool {
	alphanumeric := func(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
	if name == "" || len(name) > maxClaimName || !alphanumeric(name[0]) || !alphanumeric(name[len(name)-1]) {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !alphanumeric(c) && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

// Of returns whether the request is for a PVC of the schedule.
func (r Request) Of(claim string) bool {
	return !r.At.IsZero() && (len(r.Claims) == 0 || slices.Contains(r.Claims, claim))
}

// String returns the value of the annotation.
func (r Request) String() string {
	text := r.At.UTC().Format(time.RFC3339)
	if len(r.Claims) > 0 {
		text += " " + strings.Join(r.Claims, ",")
	}
	return text
}
