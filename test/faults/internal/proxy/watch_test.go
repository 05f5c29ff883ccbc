// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// watch opens a watch and returns its lines.
func (e *environment) watch(query string) <-chan string {
	e.Helper()
	ctx, cancel := context.WithCancel(e.Context())
	e.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.endpoint.URL+base+"/volumesnapshots?watch=true"+query, nil)
	if err != nil {
		e.Fatal(err)
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

func (e *environment) next(lines <-chan string) string {
	e.Helper()
	select {
	case l, ok := <-lines:
		if !ok {
			return "end"
		}
		return l
	case <-time.After(10 * time.Second):
		e.Fatal("no event within 10 s")
		return ""
	}
}

const added = `{"type":"ADDED","object":{"metadata":{"name":"` + created + `","resourceVersion":"7"}}}`

func TestEventsCanBeDroppedDelayedAndDuplicated(t *testing.T) {
	for action, want := range map[plan.Action][]string{
		plan.Drop: {"end"}, plan.DropGone: {"end"}, plan.Delay: {added}, plan.Duplicate: {added, added},
	} {
		t.Run(string(action), func(t *testing.T) {
			e := newEnvironment(t, Treatment{}, at(atAdded, action))
			lines := e.watch("")
			began := time.Now()
			e.server.events <- added
			for _, w := range want {
				if got := e.next(lines); got != w {
					t.Errorf("got %s, want %s", got, w)
				}
			}
			if action == plan.Delay && time.Since(began) < delay {
				t.Error("the event was not delayed")
			}
			if action != plan.DropGone {
				return
			}
			if code, _, _ := e.do(http.MethodGet, base+"/volumesnapshots?watch=true", ""); code != http.StatusGone {
				t.Errorf("the next watch was answered %d", code)
			}
		})
	}
}

func TestTheSameEventOnTwoWatchesIsOnePoint(t *testing.T) {
	e := newEnvironment(t, Treatment{})
	first, second := e.watch(""), e.watch("")
	e.server.events <- added
	e.server.events <- added // each watch gets one, or one watch gets both
	var trace plan.Trace
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) && len(first)+len(second) < 2; {
		time.Sleep(time.Millisecond)
	}
	for _, p := range e.proxy.Trace() {
		if p.IsEvent() {
			trace = append(trace, p)
		}
	}
	if !slices.Equal(trace, plan.Trace{atAdded}) {
		t.Errorf("the trace is %v", trace)
	}
}

func TestAFrozenWatchShowsThePastUntilUnfreeze(t *testing.T) {
	e := newEnvironment(t, Treatment{Frozen: 4})
	lines := e.watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
	for _, name := range []string{"a", "b", "c"} {
		if got := e.next(lines); !strings.Contains(got, `"ADDED"`) || !strings.Contains(got, `"name":"`+name+`"`) ||
			!strings.Contains(got, `"kind":"VolumeSnapshot"`) {
			t.Errorf("got %s, want %s", got, name)
		}
	}
	if got := e.next(lines); !strings.Contains(got, `"k8s.io/initial-events-end":"true"`) || !strings.Contains(got, `"resourceVersion":"4"`) {
		t.Errorf("got %s, want the end of the initial events", got)
	}
	if asked := e.server.received(); len(asked) != 1 || !strings.Contains(asked[0], "resourceVersionMatch=Exact") {
		t.Errorf("the API server received %q", asked)
	}
	e.endpoint.Unfreeze()
	e.server.events <- added
	if got := e.next(lines); got != added {
		t.Errorf("got %s after Unfreeze", got)
	}
	if asked := e.server.received(); !strings.Contains(asked[1], "resourceVersion=4") || strings.Contains(asked[1], "sendInitialEvents") {
		t.Errorf("the watch continued with %s", asked[1])
	}
}

func TestRelistEndsWatchesWithGone(t *testing.T) {
	e := newEnvironment(t, Treatment{}, at(atList, plan.Truncated))
	lines := e.watch("&sendInitialEvents=true")
	for i, name := range []string{"a", "b", "c"} {
		e.server.events <- fmt.Sprintf(`{"type":"ADDED","object":{"metadata":{"name":"%s","resourceVersion":"%d"}}}`, name, i)
	}
	e.server.events <- `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}`
	for _, want := range []string{`"name":"b"`, "BOOKMARK"} {
		if got := e.next(lines); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	e.endpoint.Relist()
	if got := e.next(lines); !strings.Contains(got, `"ERROR"`) || !strings.Contains(got, "410") {
		t.Errorf("got %s, want the end", got)
	}
}
