// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

const (
	base      = "/apis/snapshot.storage.k8s.io/v1"
	snapshots = base + "/namespaces/here/volumesnapshots"
	created   = "data-0-20260101000000-abcdefghij"
)

// fakeServer is an API server with fixed answers. It records requests.
type fakeServer struct {
	mu       sync.Mutex
	requests []string
	events   chan string
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Header.Get("Authorization") != "Bearer secret":
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Query().Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				return
			case e := <-s.events:
				_, _ = fmt.Fprintln(w, e)
			}
		}
	case r.Method == http.MethodGet && !strings.Contains(strings.TrimPrefix(r.URL.Path, snapshots), "/"):
		_, _ = fmt.Fprint(w, `{"kind":"VolumeSnapshotList","apiVersion":"snapshot.storage.k8s.io/v1","metadata":{"resourceVersion":"9"},`+
			`"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}},{"metadata":{"name":"c"}}]}`)
	case r.Method == http.MethodDelete:
		_, _ = fmt.Fprint(w, `{"kind":"Status","status":"Success","details":{"uid":"u-1"}}`)
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	default:
		_, _ = fmt.Fprint(w, `{"kind":"VolumeSnapshot","metadata":{"name":"a","uid":"u-1","resourceVersion":"5"}}`)
	}
}

func (s *fakeServer) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

type fakePast struct{}

func (fakePast) Object(_, name string, revision int64) []byte {
	if name != "a" {
		return nil
	}
	return fmt.Appendf(nil, `{"metadata":{"name":"a","resourceVersion":"%d"}}`, revision)
}

func (fakePast) Ages() [3]int64 { return [3]int64{3, 2, 1} }

// environment is a proxy with one endpoint before a fake API server.
type environment struct {
	*testing.T
	server   *fakeServer
	proxy    *Proxy
	endpoint *Endpoint

	mu      sync.Mutex
	crashes []plan.Fault
}

func (e *environment) crashed() []plan.Fault {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.crashes)
}

func (e *environment) crash(_ int, f plan.Fault) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.crashes = append(e.crashes, f)
}

func newEnvironment(t *testing.T, treatment Treatment, faults ...plan.Fault) *environment {
	e := &environment{T: t, server: &fakeServer{events: make(chan string)}}
	upstream := httptest.NewServer(e.server)
	t.Cleanup(upstream.CloseClientConnections)
	address, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	e.proxy = New(Options{
		Upstream: address, Transport: http.DefaultTransport, Token: "secret", Namespace: "here", Past: fakePast{},
		Faults: faults, Nicknames: map[string]string{"real": "nick"},
		Crash: e.crash,
	})
	if e.endpoint, err = e.proxy.Listen(treatment); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.endpoint.Close)
	return e
}

func (e *environment) do(method, path, body string) (int, http.Header, string) {
	e.Helper()
	req, err := http.NewRequestWithContext(e.Context(), method, e.endpoint.URL+path, strings.NewReader(body))
	if err != nil {
		e.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, ""
	}
	return resp.StatusCode, resp.Header, string(text)
}

func (e *environment) create() (int, http.Header, string) {
	return e.do(http.MethodPost, snapshots, `{"metadata":{"name":"`+created+`","uid":"u-1","resourceVersion":"7"}}`)
}

func at(p plan.Point, action plan.Action) plan.Fault { return plan.Fault{At: p, Action: action} }

var (
	atCreate = plan.Point{Verb: "create", Resource: "volumesnapshots", Object: "data-0+1", Nth: 1}
	atList   = plan.Point{Verb: "list", Resource: "volumesnapshots", Object: "all", Nth: 1}
	atGet    = plan.Point{Verb: "get", Resource: "volumesnapshots", Object: "a", Nth: 1}
	atAdded  = plan.Point{Verb: "added", Resource: "volumesnapshots", Object: "data-0+1", Nth: 1}
)

func TestListsAreConfinedToOneNamespace(t *testing.T) {
	e := newEnvironment(t, Treatment{})
	e.do(http.MethodGet, base+"/volumesnapshots?limit=5", "")
	e.do(http.MethodGet, snapshots+"/a", "")
	want := []string{"GET " + snapshots + "?limit=5", "GET " + snapshots + "/a"}
	if got := e.server.received(); !slices.Equal(got, want) {
		t.Errorf("the API server received %q, want %q", got, want)
	}
	if got := e.proxy.Requests()[0]; got.Namespace != "" || got.Verb != "list" || got.Group != "snapshot.storage.k8s.io" {
		t.Errorf("recorded as %+v, want the operator's request", got)
	}
}

// The operator sees a neighbor's namespace, and nothing waits for it.
func TestANeighborHasNoFaults(t *testing.T) {
	e := newEnvironment(t, Treatment{}, at(atCreate, plan.Internal))
	neighbor := strings.Replace(snapshots, "/here/", "/there/", 1)
	body := `{"metadata":{"name":"` + created + `"}}`
	if code, _, _ := e.do(http.MethodPost, neighbor, body); code != http.StatusCreated {
		t.Errorf("a create in the neighbor's namespace was answered %d", code)
	}
	if got := e.server.received(); !slices.Equal(got, []string{"POST " + neighbor}) {
		t.Errorf("the API server received %q", got)
	}
	if trace, missed := e.proxy.Trace(), e.proxy.Missed(); len(trace) > 0 || len(missed) != 1 {
		t.Errorf("the trace is %v, missed were %v", trace, missed)
	}
	if code, _, _ := e.create(); code != http.StatusInternalServerError {
		t.Errorf("a create in the run's namespace, whose point the neighbor's has not passed, was answered %d", code)
	}
	if got := e.proxy.Requests(); len(got) != 2 || got[0].Namespace != "there" {
		t.Errorf("recorded as %+v", got)
	}
}

// An operator with Roles only never watches VolumeSnapshotClasses.
func TestCachesHaveSyncedWithoutClassesIfNamespaced(t *testing.T) {
	for _, namespaced := range []bool{false, true} {
		e := newEnvironment(t, Treatment{})
		e.proxy.Namespaced = namespaced
		synced := func() bool { return e.proxy.Quiet() > 0 && !e.proxy.Windows()[0].Until.IsZero() }
		for _, resource := range []string{"persistentvolumeclaims", "volumesnapshots", "snapshotschedules"} {
			if synced() {
				t.Errorf("namespaced %t: synced before %s", namespaced, resource)
			}
			e.endpoint.markSynced(resource)
		}
		if synced() != namespaced {
			t.Errorf("namespaced %t: synced is %t before the classes", namespaced, synced())
		}
		if e.endpoint.markSynced(snapshotClasses); !synced() {
			t.Errorf("namespaced %t: not synced after all", namespaced)
		}
	}
}

func TestAlwaysInjectsAtEveryRequest(t *testing.T) {
	e := newEnvironment(t, Treatment{})
	action := plan.Quota
	e.proxy.Always = func(plan.Point) plan.Action { return action }
	for range 2 {
		if code, _, _ := e.create(); code != http.StatusForbidden {
			t.Errorf("answered %d", code)
		}
	}
	action = plan.Hang
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.endpoint.URL+snapshots+"/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
		t.Errorf("answered %s", resp.Status)
	}
	if got := e.server.received(); len(got) > 0 {
		t.Errorf("the API server received %q", got)
	}
}

func TestListsOfEverythingAreRecorded(t *testing.T) {
	e := newEnvironment(t, Treatment{})
	for path, want := range map[string]bool{"/volumesnapshots": true, "/volumesnapshots?limit=500": false} {
		before := len(e.proxy.Requests())
		e.do(http.MethodGet, base+path, "")
		if got := e.proxy.Requests()[before]; got.Unpaged != want {
			t.Errorf("%s: recorded as %+v", path, got)
		}
	}
}

func TestRequestOfFindsTheWrite(t *testing.T) {
	e := newEnvironment(t, Treatment{})
	e.create()
	e.do(http.MethodDelete, snapshots+"/a", `{"preconditions":{"uid":"u-1","resourceVersion":"7"}}`)
	got := e.proxy.Requests()
	if len(got) != 2 || got[0].Code != http.StatusCreated || got[0].Name != created || !got[0].Reached {
		t.Fatalf("%+v", got)
	}
	if got[1].UID != "u-1" || got[1].ResourceVersion != "7" {
		t.Errorf("the delete has preconditions %q and %q", got[1].UID, got[1].ResourceVersion)
	}
	later := time.Now().Add(time.Second)
	if i := e.proxy.RequestOf("u-1", "7", nil, false, later); i != 0 {
		t.Errorf("version 7 was written by request %d, want the create", i)
	}
	if i := e.proxy.RequestOf("u-1", "8", nil, true, later); i != 1 {
		t.Errorf("the object was deleted by request %d, want the delete", i)
	}
	e.do(http.MethodPatch, snapshots+"/a", `{"metadata":{"finalizers":null,"resourceVersion":"5"}}`)
	if i := e.proxy.RequestOf("u-1", "5", []byte(`{"metadata":{"finalizers":["x"]}}`), false, later); i != -1 {
		t.Errorf("version 5 was written by request %d, which has it as its precondition", i)
	}
	if i := e.proxy.RequestOf("u-2", "7", nil, false, later); i != -1 {
		t.Errorf("another object was written by request %d", i)
	}
}

func TestRefusalsDoNotReachTheAPIServer(t *testing.T) {
	for action, code := range map[plan.Action]int{
		plan.Conflict: 409, plan.TooMany: 429, plan.Internal: 500, plan.Unavailable: 503, plan.Quota: 403, plan.Terminating: 403,
	} {
		t.Run(string(action), func(t *testing.T) {
			e := newEnvironment(t, Treatment{}, at(atCreate, action))
			got, header, _ := e.create()
			if got != code || len(e.server.received()) > 0 {
				t.Errorf("answered %d, and the API server received %q", got, e.server.received())
			}
			if action == plan.TooMany && header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			if again, _, _ := e.create(); again != http.StatusCreated {
				t.Errorf("the second request was answered %d", again)
			}
			if rec := e.proxy.Requests()[0]; rec.Reached || rec.Seen != code || rec.Forbidden {
				t.Errorf("recorded as %+v", rec)
			}
			if missed := e.proxy.Missed(); len(missed) > 0 {
				t.Errorf("missed %v", missed)
			}
		})
	}
}

func TestFaultsAfterTheCommitReachTheAPIServer(t *testing.T) {
	for action, code := range map[plan.Action]int{plan.TimedOut: 504, plan.Lost: 0, plan.CrashAfter: 0, plan.Travel: 0} {
		t.Run(string(action), func(t *testing.T) {
			e := newEnvironment(t, Treatment{}, at(atCreate, action))
			got, _, _ := e.create()
			if got != code || len(e.server.received()) != 1 {
				t.Errorf("answered %d, and the API server received %q", got, e.server.received())
			}
			if rec := e.proxy.Requests()[0]; !rec.Reached || rec.Code != http.StatusCreated || rec.Seen != code {
				t.Errorf("recorded as %+v", rec)
			}
			if crashes := action == plan.CrashAfter || action == plan.Travel; crashes != (len(e.crashed()) == 1) {
				t.Errorf("crashed %v", e.crashed())
			}
		})
	}
}

func TestACrashBeforeAWriteDoesNotReachTheAPIServer(t *testing.T) {
	e := newEnvironment(t, Treatment{}, at(atCreate, plan.CrashBefore))
	e.create()
	if len(e.crashed()) != 1 || len(e.server.received()) > 0 {
		t.Errorf("crashed %v, and the API server received %q", e.crashed(), e.server.received())
	}
}

func TestAFaultWhosePointIsNotReachedIsMissed(t *testing.T) {
	never := atCreate
	never.Nth = 2
	e := newEnvironment(t, Treatment{}, at(never, plan.Internal))
	e.create()
	if missed := e.proxy.Missed(); len(missed) != 1 {
		t.Errorf("missed %v", missed)
	}
}

func TestListsCanBeIncompleteAndOld(t *testing.T) {
	for action, want := range map[plan.Action]int{plan.Empty: 0, plan.Truncated: 1} {
		e := newEnvironment(t, Treatment{}, at(atList, action))
		_, _, body := e.do(http.MethodGet, base+"/volumesnapshots", "")
		if got := strings.Count(body, `"name"`); got != want {
			t.Errorf("%s: %d objects, want %d: %s", action, got, want, body)
		}
		if !e.endpoint.Relist() || e.endpoint.Relist() {
			t.Errorf("%s: want exactly one relist", action)
		}
	}
	e := newEnvironment(t, Treatment{}, plan.Fault{At: atList, Action: plan.Stale, Age: 1})
	e.do(http.MethodGet, base+"/volumesnapshots?limit=500&resourceVersion=0", "")
	if got := e.server.received()[0]; !strings.HasSuffix(got, "?resourceVersion=2&resourceVersionMatch=Exact") {
		t.Errorf("the API server received %s", got)
	}
}

func TestAGetCanBeOld(t *testing.T) {
	e := newEnvironment(t, Treatment{}, plan.Fault{At: atGet, Action: plan.Stale, Age: 2})
	_, _, body := e.do(http.MethodGet, snapshots+"/a", "")
	if body != `{"metadata":{"name":"a","resourceVersion":"1"}}` || string(e.proxy.Requests()[0].Answer) != body {
		t.Errorf("answered %s, recorded %s", body, e.proxy.Requests()[0].Answer)
	}
	unborn := plan.Point{Verb: "get", Resource: "volumesnapshots", Object: "b", Nth: 1}
	e = newEnvironment(t, Treatment{}, plan.Fault{At: unborn, Action: plan.Stale})
	if code, _, _ := e.do(http.MethodGet, snapshots+"/b", ""); code != http.StatusNotFound {
		t.Errorf("an object that did not exist then was answered %d", code)
	}
}

func TestTheDateCanBeWrong(t *testing.T) {
	e := newEnvironment(t, Treatment{})
	for _, fault := range plan.DateFaults {
		e.proxy.SetDate(&fault)
		_, header, _ := e.do(http.MethodGet, snapshots+"/a", "")
		date, err := http.ParseTime(header.Get("Date"))
		if wrong := err != nil || time.Since(date).Abs() > 30*time.Minute; !wrong {
			t.Errorf("%s: the Date is %q", fault.Name, header.Get("Date"))
		}
	}
	e.proxy.SetDate(nil)
	_, header, _ := e.do(http.MethodGet, snapshots+"/a", "")
	if date, err := http.ParseTime(header.Get("Date")); err != nil || time.Since(date).Abs() > time.Minute {
		t.Errorf("the Date is %q after all faults, want the true one", header.Get("Date"))
	}
	if e.proxy.WrongDates() != len(plan.DateFaults) {
		t.Errorf("%d reads had a wrong Date, want %d", e.proxy.WrongDates(), len(plan.DateFaults))
	}
	for _, w := range e.proxy.Windows() {
		if w.Kind == history.Skewed && w.Until.IsZero() {
			t.Error("a window of a wrong Date has no end")
		}
	}
}
