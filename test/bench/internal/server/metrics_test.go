// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestLiveHeapWaitsForTwoWholeCycles(t *testing.T) {
	cycles := 4
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "# TYPE %[1]s counter\n%[1]s %[3]d\n# TYPE %[2]s gauge\n%[2]s %[3]de+06\nother{a=\"b c\"} 3\n",
			cyclesMetric, liveMetric, cycles)
		cycles++
	}))
	defer server.Close()
	if got, err := (&Operator{metrics: server.URL}).LiveHeap(t.Context()); err != nil || got != 7e6 {
		t.Errorf("got %v, %v", got, err)
	}
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	if got, err := (&Operator{metrics: empty.URL}).LiveHeap(t.Context()); err == nil {
		t.Errorf("got %v and no error without metrics", got)
	}
}
