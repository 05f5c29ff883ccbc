// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStopReturnsWhyTheProcessDidNotEndWell(t *testing.T) {
	for script, want := range map[string]string{
		"cat":                       "",
		"cat; echo oops >&2; false": "exit status 1: oops",
		"exec sleep 600":            "killed after 3s",
	} {
		p, err := Start(t.Context(), Options{
			Name: "script", Command: []string{"sh", "-c", script}, Log: filepath.Join(t.TempDir(), "log"), Piped: true,
		})
		if err != nil {
			t.Skip(err)
		}
		if err := p.Stop(3 * time.Second); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", script, err, want)
		}
	}
}
