// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package audit reads one user's requests from the audit log of an API server.
package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// policy logs each request once, when it is answered, and each watch also when it starts.
const policy = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata"}]}`

// Enable configures an API server to log its requests in a folder, and returns the log's path.
func Enable(server *envtest.APIServer, dir string) (string, error) {
	path, log := filepath.Join(dir, "audit-policy.json"), filepath.Join(dir, "audit.log")
	server.Configure().Set("audit-policy-file", path).Set("audit-log-path", log).Set("audit-log-maxsize", "100000")
	return log, os.WriteFile(path, []byte(policy), 0o600)
}

// Log is an audit log at level Metadata that is never rotated.
type Log struct {
	Path string
	// User is the name of the user whose requests are read.
	User string
}

// Mark is a position in a log.
type Mark int64

// Mark returns the end of the log.
func (l Log) Mark() (Mark, error) {
	info, err := os.Stat(l.Path)
	if err != nil {
		return 0, err
	}
	return Mark(info.Size()), nil
}

// Since returns the user's requests that were answered after a mark; of a watch, its start.
func (l Log) Since(mark Mark) (Requests, error) {
	f, err := os.Open(l.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(int64(mark), io.SeekStart); err != nil {
		return nil, err
	}
	var found Requests
	lines := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return found, nil // an incomplete line is still being written
		}
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(line, []byte(`"`+l.User+`"`)) {
			continue
		}
		r, ok, err := l.parse(line)
		if err != nil {
			return nil, fmt.Errorf("parse line %q of the audit log: %w", line, err)
		}
		if ok {
			found = append(found, r)
		}
	}
}

// credentialID is the extra field of a user that differs between the tokens of one ServiceAccount.
const credentialID = "authentication.kubernetes.io/credential-id"

func (l Log) parse(line []byte) (Request, bool, error) {
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
	if err := json.Unmarshal(line, &e); err != nil {
		return Request{}, false, err
	}
	if e.User.Username != l.User || (e.Verb == "watch") != (e.Stage == "ResponseStarted") {
		return Request{}, false, nil
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
	return r, true, nil
}

// Request is one request.
type Request struct {
	Time time.Time
	Verb string
	// Resource is written as for kubectl auth can-i, with a subresource after a slash. It is empty
	// for discovery and the like.
	Group, Resource, Namespace, Name, URI string
	Code                                  int
	// Forbidden says that no role allows the request.
	Forbidden bool
	// Credential identifies the token that was used.
	Credential string
}

func (r Request) String() string {
	return fmt.Sprintf("%s %s %s → %d", r.Time.Format("15:04:05.000"), r.Verb, r.URI, r.Code)
}

// Kind is the verb and the resource, and the status code of a request that failed.
func (r Request) Kind() string {
	kind := r.Verb + " " + r.Resource
	if r.Resource == "" {
		kind += r.URI
	}
	if r.Failed() {
		kind += fmt.Sprintf(", answered %d", r.Code)
	}
	return kind
}

// Failed returns whether the API server answered with an error.
func (r Request) Failed() bool { return r.Code >= http.StatusBadRequest }

// Writes returns whether the request changes something.
func (r Request) Writes() bool { return !slices.Contains([]string{"get", "list", "watch"}, r.Verb) }

// Requests are in the order of their answers.
type Requests []Request

// Where returns the requests that a condition holds for.
func (rs Requests) Where(holds func(Request) bool) Requests {
	var found Requests
	for _, r := range rs {
		if holds(r) {
			found = append(found, r)
		}
	}
	return found
}

// In returns the requests about a namespace.
func (rs Requests) In(namespace string) Requests {
	return rs.Where(func(r Request) bool { return r.Namespace == namespace })
}

// Of returns the requests with one of some verbs for a resource.
func (rs Requests) Of(resource string, verbs ...string) Requests {
	return rs.Where(func(r Request) bool { return r.Resource == resource && slices.Contains(verbs, r.Verb) })
}

// By returns the requests that were made with a token.
func (rs Requests) By(credential string) Requests {
	return rs.Where(func(r Request) bool { return r.Credential == credential })
}

// Forbidden returns the requests that no role allows.
func (rs Requests) Forbidden() Requests {
	return rs.Where(func(r Request) bool { return r.Forbidden })
}

// Busy returns the requests that an idle operator does not make: all but watches and those for its
// lease.
func (rs Requests) Busy() Requests {
	return rs.Where(func(r Request) bool { return r.Verb != "watch" && r.Resource != "leases" })
}

// Counts counts the requests of each kind.
func (rs Requests) Counts() map[string]int {
	counts := map[string]int{}
	for _, r := range rs {
		counts[r.Kind()]++
	}
	return counts
}
