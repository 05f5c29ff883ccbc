// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
)

// credentialID is the extra of a user that tells tokens of one ServiceAccount
// apart.
const credentialID = "authentication.kubernetes.io/credential-id"

// Audit is the API server's audit log, at level Metadata and never rotated.
type Audit struct {
	Path string
	// User is the operator, as the API server names it.
	User string
}

// Mark is a place in the log.
type Mark int64

// Request is one that the operator's ServiceAccount made.
type Request struct {
	Time time.Time
	Verb string
	// Resource is as kubectl auth can-i writes it, with a subresource after a
	// slash; empty for discovery and the like.
	Group, Resource, Namespace, Name, URI string
	Code                                  int
	// Forbidden: no role allows it.
	Forbidden bool
	// Credential tells one start of the operator from another.
	Credential string
}

func (r Request) String() string {
	return fmt.Sprintf("%s %s %s → %d", r.Time.Format("15:04:05.000"), r.Verb, r.URI, r.Code)
}

// Requests are several, in the order of their answers.
type Requests []Request

// Mark is the end of the log.
func (a Audit) Mark() Mark {
	info, err := os.Stat(a.Path)
	must(err, "the audit log")
	return Mark(info.Size())
}

// Since are the operator's requests answered since a mark; of a watch, its
// start.
func (a Audit) Since(mark Mark) Requests {
	f, err := os.Open(a.Path)
	must(err, "the audit log")
	defer f.Close()
	_, err = f.Seek(int64(mark), io.SeekStart)
	must(err, "the audit log")
	var found Requests
	lines := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return found // a line without an end is still being written
		}
		must(err, "the audit log")
		if bytes.Contains(line, []byte(`"`+a.User+`"`)) {
			if r, ok := a.parse(line); ok {
				found = append(found, r)
			}
		}
	}
}

func (a Audit) parse(line []byte) (Request, bool) {
	var e struct {
		Stage, Verb, RequestURI string
		User                    struct {
			Username string
			Extra    map[string][]string
		}
		ObjectRef      struct{ APIGroup, Resource, Subresource, Namespace, Name string }
		ResponseStatus struct{ Code int }
		Annotations    map[string]string
		Received       time.Time `json:"requestReceivedTimestamp"`
	}
	err := json.Unmarshal(line, &e)
	must(err, "a line of the audit log: %s", line)
	if e.User.Username != a.User || (e.Verb == "watch") != (e.Stage == "ResponseStarted") {
		return Request{}, false
	}
	r := Request{
		Time: e.Received, Verb: e.Verb, URI: e.RequestURI, Code: e.ResponseStatus.Code,
		Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource, Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
		Forbidden: e.Annotations["authorization.k8s.io/decision"] == "forbid",
	}
	if e.ObjectRef.Subresource != "" {
		r.Resource += "/" + e.ObjectRef.Subresource
	}
	if id := e.User.Extra[credentialID]; len(id) > 0 {
		r.Credential = strings.TrimPrefix(id[0], "JTI=")
	}
	return r, true
}

// Where are those of the requests that a condition holds for.
func (rs Requests) Where(holds func(Request) bool) Requests {
	var found Requests
	for _, r := range rs {
		if holds(r) {
			found = append(found, r)
		}
	}
	return found
}

// In are those about a namespace.
func (rs Requests) In(namespace string) Requests {
	return rs.Where(func(r Request) bool { return r.Namespace == namespace })
}

// Of are those with one of some verbs, on a resource.
func (rs Requests) Of(resource string, verbs ...string) Requests {
	return rs.Where(func(r Request) bool { return r.Resource == resource && slices.Contains(verbs, r.Verb) })
}

// By are those of one start of the operator.
func (rs Requests) By(o *Operator) Requests {
	return rs.Where(func(r Request) bool { return r.Credential == o.credential })
}

// Forbidden are those that no role allows.
func (rs Requests) Forbidden() Requests {
	return rs.Where(func(r Request) bool { return r.Forbidden })
}

// Busy are those that an idle operator does not make: all but watches and, of
// a leader, its lease.
func (rs Requests) Busy() Requests {
	return rs.Where(func(r Request) bool { return r.Verb != "watch" && r.Resource != "leases" })
}

// Count sums up, for messages: "12 create volumesnapshots → 201".
func (rs Requests) Count() string {
	counts := map[string]int{}
	for _, r := range rs {
		what := r.Resource
		if what == "" {
			what = r.URI
		}
		counts[fmt.Sprintf("%s %s → %d", r.Verb, what, r.Code)]++
	}
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%6d %s", counts[what], what))
	}
	return strings.Join(lines, "\n")
}

// ExpectNoneForbidden fails the spec if the operator asked since a mark for
// anything that its shipped roles do not allow.
func (a Audit) ExpectNoneForbidden(mark Mark) {
	ExpectWithOffset(1, a.Since(mark).Forbidden()).To(BeEmpty(),
		"the operator asked for what the shipped ClusterRole does not allow")
}
