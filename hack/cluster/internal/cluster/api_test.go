// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestApplyCRDsWaitsUntilTheyAreEstablished(t *testing.T) {
	dir := t.TempDir()
	crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.example.com\n"
	if err := os.WriteFile(filepath.Join(dir, "things.yaml"), []byte(crd), 0o600); err != nil {
		t.Fatal(err)
	}
	gets, applied := 0, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != crdCollection+"/things.example.com" {
			t.Errorf("requested %s", r.URL.Path)
		}
		if r.Method == http.MethodPatch {
			b, _ := io.ReadAll(r.Body)
			applied = r.Header.Get("Content-Type") + "\n" + string(b)
			return
		}
		status := "False"
		if gets++; gets > 1 {
			status = "True"
		}
		_, _ = io.WriteString(w, `{"status":{"conditions":[{"type":"Established","status":"`+status+`"}]}}`)
	}))
	defer s.Close()
	a := &api{server: s.URL, http: s.Client()}
	if err := a.applyCRDs(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if applied != "application/apply-patch+yaml\n"+crd || gets != 2 {
		t.Errorf("applied %q, read %d times", applied, gets)
	}
	if err := a.applyCRDs(t.Context(), t.TempDir()); err == nil {
		t.Error("accepted a folder without CRDs")
	}
}

func TestAPIErrorsContainTheResponse(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "denied", http.StatusForbidden)
	}))
	defer s.Close()
	err := (&api{server: s.URL, http: s.Client()}).apply(t.Context(), "/things", "a", nil)
	if err == nil || !strings.Contains(err.Error(), "403") || !strings.Contains(err.Error(), "denied") {
		t.Errorf("err = %v", err)
	}
}
