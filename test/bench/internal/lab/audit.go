// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
)

// auditPolicy logs who asked for what, once, when it was answered; of a watch, when it began.
const auditPolicy = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy",` +
	`"omitStages":["RequestReceived"],"rules":[{"level":"Metadata"}]}`

// Audit is the API server's log of requests, by its path.
type Audit string

// Mark is a place in the log.
type Mark int64

// Mark is the end of the log.
func (a Audit) Mark() (Mark, error) {
	info, err := os.Stat(string(a))
	if err != nil {
		return 0, err
	}
	return Mark(info.Size()), nil
}

// Request is a kind of request: its verb, its resource with the subresource after a slash, and the
// status code if it failed, else zero.
type Request struct {
	Verb, Resource string
	Failed         int
}

func (r Request) String() string {
	if r.Failed != 0 {
		return fmt.Sprintf("%s %s, answered %d", r.Verb, r.Resource, r.Failed)
	}
	return r.Verb + " " + r.Resource
}

// Requests counts the requests that the operator made.
type Requests map[Request]int

// Of sums up the requests with some verbs for a resource, also those that failed.
func (rs Requests) Of(resource string, verbs ...string) int {
	n := 0
	for r, count := range rs {
		if r.Resource == resource && slices.Contains(verbs, r.Verb) {
			n += count
		}
	}
	return n
}

// Busy counts what an idle operator does not do: all but watches and its lease.
func (rs Requests) Busy() int {
	n := 0
	for r, count := range rs {
		if r.Verb != "watch" && r.Resource != "leases" {
			n += count
		}
	}
	return n
}

// Since counts the requests answered since a mark.
func (a Audit) Since(mark Mark) (Requests, error) {
	f, err := os.Open(string(a))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(int64(mark), io.SeekStart); err != nil {
		return nil, err
	}
	return countRequests(f)
}

func countRequests(log io.Reader) (Requests, error) {
	found := Requests{}
	lines := bufio.NewReaderSize(log, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return found, nil // a line without an end is still being written
		}
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(line, []byte(user)) {
			continue
		}
		r, ok, err := parseAudit(line)
		if err != nil {
			return nil, err
		}
		if ok {
			found[r]++
		}
	}
}

func parseAudit(line []byte) (Request, bool, error) {
	var e struct {
		Stage, Verb, RequestURI string
		User                    struct{ Username string }
		ObjectRef               struct{ Resource, Subresource string }
		ResponseStatus          struct{ Code int }
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return Request{}, false, fmt.Errorf("the audit log has a line that is no JSON: %w", err)
	}
	if e.User.Username != user || (e.Verb == "watch") != (e.Stage == "ResponseStarted") {
		return Request{}, false, nil
	}
	r := Request{Verb: e.Verb, Resource: e.ObjectRef.Resource}
	if e.ObjectRef.Subresource != "" {
		r.Resource += "/" + e.ObjectRef.Subresource
	}
	if e.ResponseStatus.Code >= http.StatusBadRequest {
		r.Failed = e.ResponseStatus.Code
	}
	if r.Resource == "" {
		r.Resource = e.RequestURI
	}
	return r, true, nil
}
