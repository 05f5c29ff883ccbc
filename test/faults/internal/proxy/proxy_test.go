// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
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
	taken1    = "data-0-20260101000000-abcdefghij"
)

// server is an API server that knows nothing, and remembers what it was asked.
type server struct {
	mu     sync.Mutex
	asked  []string
	events chan string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
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

func (s *server) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

type past struct{}

func (past) Object(_, name string, revision int64) []byte {
	if name != "a" {
		return nil
	}
	return fmt.Appendf(nil, `{"metadata":{"name":"a","resourceVersion":"%d"}}`, revision)
}

func (past) Ages() [3]int64 { return [3]int64{3, 2, 1} }

type rig struct {
	*testing.T
	server  *server
	gate    *Gate
	process *Process

	mu     sync.Mutex
	deaths []plan.Fault
}

// crashed are the faults that killed the process so far.
func (r *rig) crashed() []plan.Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.deaths)
}

func (r *rig) crash(_ int, f plan.Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deaths = append(r.deaths, f)
}

func newRig(t *testing.T, how Manner, faults ...plan.Fault) *rig {
	r := &rig{T: t, server: &server{events: make(chan string)}}
	upstream := httptest.NewServer(r.server)
	t.Cleanup(upstream.CloseClientConnections)
	address, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.gate = New(Options{
		Upstream: address, Transport: http.DefaultTransport, Token: "secret", Namespace: "here", Past: past{},
		Faults: faults, Nicknames: map[string]string{"real": "nick"},
		Crash: r.crash,
	})
	if r.process, err = r.gate.Listen(how); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.process.Close)
	return r
}

func (r *rig) do(method, path, body string) (int, http.Header, string) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, r.process.URL+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
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

func (r *rig) create() (int, http.Header, string) {
	return r.do(http.MethodPost, snapshots, `{"metadata":{"name":"`+taken1+`","uid":"u-1","resourceVersion":"7"}}`)
}

func at(p plan.Point, do plan.Deed) plan.Fault { return plan.Fault{At: p, Do: do} }

var (
	atCreate = plan.Point{Verb: "create", Resource: "volumesnapshots", Object: "data-0+1", Nth: 1}
	atList   = plan.Point{Verb: "list", Resource: "volumesnapshots", Object: "all", Nth: 1}
	atGet    = plan.Point{Verb: "get", Resource: "volumesnapshots", Object: "a", Nth: 1}
	atAdded  = plan.Point{Verb: "added", Resource: "volumesnapshots", Object: "data-0+1", Nth: 1}
)

func TestListsAreConfinedToTheNamespace(t *testing.T) {
	r := newRig(t, Manner{})
	r.do(http.MethodGet, base+"/volumesnapshots?limit=5", "")
	r.do(http.MethodGet, snapshots+"/a", "")
	want := []string{"GET " + snapshots + "?limit=5", "GET " + snapshots + "/a"}
	if got := r.server.heard(); !slices.Equal(got, want) {
		t.Errorf("the API server was asked %q, not %q", got, want)
	}
	if got := r.gate.Requests()[0]; got.Namespace != "" || got.Verb != "list" || got.Group != "snapshot.storage.k8s.io" {
		t.Errorf("it was recorded as %+v, not as the operator asked", got)
	}
}

func TestAWriteIsRecordedWithWhatItChanged(t *testing.T) {
	r := newRig(t, Manner{})
	r.create()
	r.do(http.MethodDelete, snapshots+"/a", `{"preconditions":{"uid":"u-1","resourceVersion":"7"}}`)
	got := r.gate.Requests()
	if len(got) != 2 || got[0].Code != http.StatusCreated || got[0].Name != taken1 || !got[0].Reached {
		t.Fatalf("%+v", got)
	}
	if got[1].UID != "u-1" || got[1].ResourceVersion != "7" {
		t.Errorf("the delete has the preconditions %q and %q", got[1].UID, got[1].ResourceVersion)
	}
	later := time.Now().Add(time.Second)
	if i := r.gate.Changed("u-1", "7", nil, false, later); i != 0 {
		t.Errorf("version 7 was made by request %d, not by the create", i)
	}
	if i := r.gate.Changed("u-1", "8", nil, true, later); i != 1 {
		t.Errorf("the end was made by request %d, not by the delete", i)
	}
	r.do(http.MethodPatch, snapshots+"/a", `{"metadata":{"finalizers":null,"resourceVersion":"5"}}`)
	if i := r.gate.Changed("u-1", "5", []byte(`{"metadata":{"finalizers":["x"]}}`), false, later); i != -1 {
		t.Errorf("version 5 was made by request %d, which was held to it", i)
	}
	if i := r.gate.Changed("u-2", "7", nil, false, later); i != -1 {
		t.Errorf("another object was changed by request %d", i)
	}
}

func TestRefusalsDoNotReachTheServer(t *testing.T) {
	for do, code := range map[plan.Deed]int{
		plan.Conflict: 409, plan.TooMany: 429, plan.Internal: 500, plan.Unavailable: 503, plan.Quota: 403, plan.Terminating: 403,
	} {
		t.Run(string(do), func(t *testing.T) {
			r := newRig(t, Manner{}, at(atCreate, do))
			got, header, _ := r.create()
			if got != code || len(r.server.heard()) > 0 {
				t.Errorf("told %d, and the API server heard %q", got, r.server.heard())
			}
			if do == plan.TooMany && header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			if again, _, _ := r.create(); again != http.StatusCreated {
				t.Errorf("the second try was told %d", again)
			}
			if rec := r.gate.Requests()[0]; rec.Reached || rec.Seen != code || rec.Forbidden {
				t.Errorf("recorded as %+v", rec)
			}
			if missed := r.gate.Missed(); len(missed) > 0 {
				t.Errorf("missed %v", missed)
			}
		})
	}
}

func TestAfterTheCommitTheServerHasIt(t *testing.T) {
	for do, code := range map[plan.Deed]int{plan.TimedOut: 504, plan.Lost: 0, plan.CrashAfter: 0, plan.Travel: 0} {
		t.Run(string(do), func(t *testing.T) {
			r := newRig(t, Manner{}, at(atCreate, do))
			got, _, _ := r.create()
			if got != code || len(r.server.heard()) != 1 {
				t.Errorf("told %d, and the API server heard %q", got, r.server.heard())
			}
			if rec := r.gate.Requests()[0]; !rec.Reached || rec.Code != http.StatusCreated || rec.Seen != code {
				t.Errorf("recorded as %+v", rec)
			}
			if crashes := do == plan.CrashAfter || do == plan.Travel; crashes != (len(r.crashed()) == 1) {
				t.Errorf("crashed %v", r.crashed())
			}
		})
	}
}

func TestACrashBeforeAWriteKeepsItFromTheServer(t *testing.T) {
	r := newRig(t, Manner{}, at(atCreate, plan.CrashBefore))
	r.create()
	if len(r.crashed()) != 1 || len(r.server.heard()) > 0 {
		t.Errorf("crashed %v, and the API server heard %q", r.crashed(), r.server.heard())
	}
}

func TestAFaultThatIsNotMetIsMissed(t *testing.T) {
	never := atCreate
	never.Nth = 2
	r := newRig(t, Manner{}, at(never, plan.Internal))
	r.create()
	if missed := r.gate.Missed(); len(missed) != 1 {
		t.Errorf("missed %v", missed)
	}
}

func TestListsCanBeShortAndOld(t *testing.T) {
	for do, want := range map[plan.Deed]int{plan.Empty: 0, plan.Truncated: 1} {
		r := newRig(t, Manner{}, at(atList, do))
		_, _, body := r.do(http.MethodGet, base+"/volumesnapshots", "")
		if got := strings.Count(body, `"name"`); got != want {
			t.Errorf("%s: %d objects, not %d: %s", do, got, want, body)
		}
		if !r.process.Heal() || r.process.Heal() {
			t.Errorf("%s: the operator is to list again just once", do)
		}
	}
	r := newRig(t, Manner{}, plan.Fault{At: atList, Do: plan.Stale, Age: 1})
	r.do(http.MethodGet, base+"/volumesnapshots?limit=500&resourceVersion=0", "")
	if got := r.server.heard()[0]; !strings.HasSuffix(got, "?resourceVersion=2&resourceVersionMatch=Exact") {
		t.Errorf("the API server was asked %s", got)
	}
}

func TestAGetCanBeOld(t *testing.T) {
	r := newRig(t, Manner{}, plan.Fault{At: atGet, Do: plan.Stale, Age: 2})
	_, _, body := r.do(http.MethodGet, snapshots+"/a", "")
	if body != `{"metadata":{"name":"a","resourceVersion":"1"}}` || string(r.gate.Requests()[0].Answer) != body {
		t.Errorf("told %s, recorded %s", body, r.gate.Requests()[0].Answer)
	}
	unborn := plan.Point{Verb: "get", Resource: "volumesnapshots", Object: "b", Nth: 1}
	r = newRig(t, Manner{}, plan.Fault{At: unborn, Do: plan.Stale})
	if code, _, _ := r.do(http.MethodGet, snapshots+"/b", ""); code != http.StatusNotFound {
		t.Errorf("what was not there then was answered %d", code)
	}
}

func TestTheDateCanLie(t *testing.T) {
	r := newRig(t, Manner{})
	for _, lie := range plan.Lies {
		r.gate.Lie(&lie)
		_, header, _ := r.do(http.MethodGet, snapshots+"/a", "")
		told, err := http.ParseTime(header.Get("Date"))
		if lies := err != nil || time.Since(told).Abs() > 30*time.Minute; !lies {
			t.Errorf("%s: the Date was %q", lie.Name, header.Get("Date"))
		}
	}
	r.gate.Lie(nil)
	_, header, _ := r.do(http.MethodGet, snapshots+"/a", "")
	if told, err := http.ParseTime(header.Get("Date")); err != nil || time.Since(told).Abs() > time.Minute {
		t.Errorf("the Date was %q when all lies were over", header.Get("Date"))
	}
	if r.gate.Lied() != len(plan.Lies) {
		t.Errorf("%d reads were lied to, not %d", r.gate.Lied(), len(plan.Lies))
	}
	for _, w := range r.gate.Windows() {
		if w.Kind == history.Skewed && w.Until.IsZero() {
			t.Error("a window of a wrong clock has no end")
		}
	}
}

// watch opens a watch that begins with nothing, and returns its lines.
func (r *rig) watch(query string) <-chan string {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	r.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.process.URL+base+"/volumesnapshots?watch=true"+query, nil)
	if err != nil {
		r.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		in := bufio.NewScanner(resp.Body)
		for in.Scan() {
			lines <- in.Text()
		}
	}()
	return lines
}

func (r *rig) next(lines <-chan string) string {
	r.Helper()
	select {
	case l, ok := <-lines:
		if !ok {
			return "end"
		}
		return l
	case <-time.After(10 * time.Second):
		r.Fatal("no event came")
		return ""
	}
}

const added = `{"type":"ADDED","object":{"metadata":{"name":"` + taken1 + `","resourceVersion":"7"}}}`

func TestEventsCanBeDroppedDelayedAndDoubled(t *testing.T) {
	for do, want := range map[plan.Deed][]string{
		plan.Drop: {"end"}, plan.DropGone: {"end"}, plan.Delay: {added}, plan.Duplicate: {added, added},
	} {
		t.Run(string(do), func(t *testing.T) {
			r := newRig(t, Manner{}, at(atAdded, do))
			lines := r.watch("")
			began := time.Now()
			r.server.events <- added
			for _, w := range want {
				if got := r.next(lines); got != w {
					t.Errorf("%s came, not %s", got, w)
				}
			}
			if do == plan.Delay && time.Since(began) < lateBy {
				t.Error("the event was not late")
			}
			if do != plan.DropGone {
				return
			}
			if code, _, _ := r.do(http.MethodGet, base+"/volumesnapshots?watch=true", ""); code != http.StatusGone {
				t.Errorf("the next watch was answered %d", code)
			}
		})
	}
}

func TestTheSameEventIsTheSamePoint(t *testing.T) {
	r := newRig(t, Manner{})
	first, second := r.watch(""), r.watch("")
	r.server.events <- added
	r.server.events <- added // one to each of the two, or both to one
	var trace plan.Trace
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) && len(first)+len(second) < 2; {
		time.Sleep(time.Millisecond)
	}
	for _, p := range r.gate.Trace() {
		if p.Event() {
			trace = append(trace, p)
		}
	}
	if !slices.Equal(trace, plan.Trace{atAdded}) {
		t.Errorf("the trace has %v", trace)
	}
}

func TestAFrozenWatchShowsThePastUntilItThaws(t *testing.T) {
	r := newRig(t, Manner{Frozen: 4})
	lines := r.watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
	for _, name := range []string{"a", "b", "c"} {
		if got := r.next(lines); !strings.Contains(got, `"ADDED"`) || !strings.Contains(got, `"name":"`+name+`"`) ||
			!strings.Contains(got, `"kind":"VolumeSnapshot"`) {
			t.Errorf("%s came, not %s", got, name)
		}
	}
	if got := r.next(lines); !strings.Contains(got, `"k8s.io/initial-events-end":"true"`) || !strings.Contains(got, `"resourceVersion":"4"`) {
		t.Errorf("%s came, not the end of the beginning", got)
	}
	if asked := r.server.heard(); len(asked) != 1 || !strings.Contains(asked[0], "resourceVersionMatch=Exact") {
		t.Errorf("the API server was asked %q", asked)
	}
	r.process.Thaw()
	r.server.events <- added
	if got := r.next(lines); got != added {
		t.Errorf("%s came after the thaw", got)
	}
	if asked := r.server.heard(); !strings.Contains(asked[1], "resourceVersion=4") || strings.Contains(asked[1], "sendInitialEvents") {
		t.Errorf("the watch went on with %s", asked[1])
	}
}

func TestHealingEndsWatchesWithGone(t *testing.T) {
	r := newRig(t, Manner{}, at(atList, plan.Truncated))
	lines := r.watch("&sendInitialEvents=true")
	for i, name := range []string{"a", "b", "c"} {
		r.server.events <- fmt.Sprintf(`{"type":"ADDED","object":{"metadata":{"name":"%s","resourceVersion":"%d"}}}`, name, i)
	}
	r.server.events <- `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}`
	for _, want := range []string{`"name":"b"`, "BOOKMARK"} {
		if got := r.next(lines); !strings.Contains(got, want) {
			t.Errorf("%s came, not %s", got, want)
		}
	}
	r.process.Heal()
	if got := r.next(lines); !strings.Contains(got, `"ERROR"`) || !strings.Contains(got, "410") {
		t.Errorf("%s came, not the end", got)
	}
}
