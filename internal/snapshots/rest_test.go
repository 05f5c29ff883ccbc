// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"mapcontroller.dev/snapshotschedule/internal/transport"
)

func TestConfiguredClientsBoundPagesAndReadTheClock(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		objects, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		_, _ = w.Write(bytes.Repeat([]byte("x"), objects<<20))
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	Configure(config, clocktesting.NewFakePassiveClock(noon))
	api, err := rest.HTTPClientFor(config)
	must(t, err)
	if !transport.ReadsServerClock(api.Transport) {
		t.Error("the API server's clock is not read")
	}
	resp, err := api.Get(server.URL + "/api/v1/persistentvolumeclaims?limit=32")
	must(t, err)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	must(t, err)
	if len(page) != 4<<20 {
		t.Errorf("a page of %d bytes", len(page))
	}
}
