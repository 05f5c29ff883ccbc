// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/httpapi"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

const (
	base      = "/apis/snapshot.storage.k8s.io/v1"
	snapshots = base + "/namespaces/here/volumesnapshots"
)

// server is an API server with fixed answers, which a link reaches without a network.
type server struct{ requests []string }

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	return httpapi.Answer(r, map[string]any{"metadata": map[string]string{"name": "a", "resourceVersion": "5"}}, nil), nil
}

// network is a link to a server.
type network struct {
	*Link
	server  *server
	crashes int
	judged  []string
}

func newNetwork(p plan.Plan) *network {
	n := &network{server: &server{}}
	w := New(Options{
		Namespace: "here", Plan: p,
		Crash: func(l *Link) { n.crashes++; l.Cut() },
		Judge: func(_ context.Context, _ *Link, a judge.Attempt) func(int) {
			n.judged = append(n.judged, a.Verb)
			return func(code int) { n.judged = append(n.judged, fmt.Sprint(code)) }
		},
	})
	n.Link = w.NewLink()
	n.Base = n.server
	return n
}

// do returns the status code, 0 without an answer.
func (n *network) do(method, path string) int {
	resp, err := n.RoundTrip(httptest.NewRequest(method, path, http.NoBody))
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

var atDelete = plan.Point{Verb: "delete", Resource: "volumesnapshots", Object: "a", Nth: 1}

func TestAnOperatorDiesBeforeOrAfterACommit(t *testing.T) {
	for action, want := range map[plan.Action]struct {
		code, committed, crashes int
	}{
		"": {200, 1, 0}, plan.CrashBefore: {0, 0, 1}, plan.CrashAfter: {0, 1, 1},
	} {
		t.Run(string(action), func(t *testing.T) {
			n := newNetwork(plan.Plan{At: atDelete, Action: action})
			code := n.do(http.MethodDelete, snapshots+"/a")
			if code != want.code || len(n.server.requests) != want.committed || n.crashes != want.crashes {
				t.Errorf("%d, %q, %d crashes", code, n.server.requests, n.crashes)
			}
			if (want.committed == 1) != slices.Equal(n.judged, []string{"delete", "200"}) {
				t.Errorf("judged: %q", n.judged)
			}
			if again := n.do(http.MethodDelete, snapshots+"/a"); (again == 200) != (want.crashes == 0) || n.wire.Missed() {
				t.Errorf("the next one: %d, missed: %t", again, n.wire.Missed())
			}
		})
	}
}

func TestKnowsWhatWasReadLive(t *testing.T) {
	n := newNetwork(plan.Plan{})
	began := time.Now().Add(-time.Second)
	n.do(http.MethodGet, base+"/volumesnapshots?limit=500") // fills a cache
	if n.HasRead("volumesnapshots", "a", began) {
		t.Error("a list of all namespaces counts as a live read")
	}
	n.do(http.MethodGet, snapshots+"/a")
	if !n.HasRead("volumesnapshots", "a", began) || n.HasRead("volumesnapshots", "b", began) || n.HasRead("volumesnapshots", "a", time.Now()) {
		t.Error("a get is not a read of its object alone, at its time")
	}
}

func TestPointsHaveLogicalNames(t *testing.T) {
	n := newNames(map[string]string{"data-0-20250101000000-aaaaaaaaaa": "data-0-old-0"})
	const (
		first    = `{"metadata":{"name":"data-0-20260101000000-bbbbbbbbbb"}}`
		second   = `{"metadata":{"name":"data-0-20260102000000-cccccccccc"}}`
		status   = "/apis/snapshots.mapcontroller.dev/v1alpha1/namespaces/here/snapshotschedules/nightly/status"
		metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	)
	for _, c := range []struct{ method, path, accept, body, want string }{
		{"POST", snapshots, "", first, "create.volumesnapshots.data-0+1.1"},
		{"POST", snapshots, "", first, "create.volumesnapshots.data-0+1.2"},
		{"POST", snapshots, "", second, "create.volumesnapshots.data-0+2.1"},
		{"DELETE", snapshots + "/data-0-20250101000000-aaaaaaaaaa", "", "", "delete.volumesnapshots.data-0-old-0.1"},
		{"PATCH", status, "", "{}", "patch.snapshotschedules/status.nightly.1"},
		{"GET", base + "/volumesnapshots?limit=500", "", "", "list.volumesnapshots.all.1"},
		{"GET", base + "/volumesnapshots?watch=true", "", "", "watch.volumesnapshots.all.1"},
		{"GET", base + "/volumesnapshots", metadata, "", "list.volumesnapshots.all.2"},
		{"GET", "/apis/snapshot.storage.k8s.io/v1", "", "", "get.path./apis/snapshot.storage.k8s.io/v1.1"},
		{"POST", "/apis/events.k8s.io/v1/namespaces/here/events", "",
			`{"metadata":{"name":"nightly.18a3f"},"reason":"CreateFailed"}`, "create.events.CreateFailed.1"},
	} {
		req := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		req.Header.Set("Accept", c.accept)
		q, err := parse(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.request(q); got.String() != c.want {
			t.Errorf("%s %s is %s, want %s", c.method, c.path, got, c.want)
		}
	}
}
