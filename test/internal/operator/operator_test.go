// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// started runs a shell script instead of the operator.
func started(t *testing.T, script string) *Operator {
	t.Helper()
	o, err := Start(t.Context(), Options{
		Command: []string{"sh", "-c", script, "sh"}, Kubeconfig: "/k", Flags: []string{"--more"}, Dir: t.TempDir(), Name: "one",
	})
	if err != nil {
		t.Skip(err)
	}
	<-o.Ended()
	return o
}

func TestStartPassesKubeconfigAndFlags(t *testing.T) {
	o := started(t, `echo "$KUBECONFIG $*"`)
	if got, err := o.Log(); err != nil || got != "/k --more --health-probe-bind-address=127.0.0.1:0\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestErrorsAreThoseOfLevelErrorAndWhatIsNotJSON(t *testing.T) {
	o := started(t, `echo '{"level":"info","msg":"a"}'; echo '{"level":"error","msg":"b","error":"c"}'; echo panic`)
	got, err := o.Errors()
	want := []LogLine{{Level: "error", Msg: "b", Error: "c"}, {Level: "raw", Msg: "panic\n"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestProbeAsksTheAddressInTheLog(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Error(r.URL.Path)
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	o := started(t, `echo '{"msg":"starting server","name":"health probe","addr":"`+address+`"}'`)
	if code, err := o.Probe("readyz"); err != nil || code != http.StatusInternalServerError {
		t.Errorf("got %d, %v", code, err)
	}
	if code, err := started(t, "echo").Probe("readyz"); err == nil {
		t.Errorf("got %d and no error without an address", code)
	}
}
