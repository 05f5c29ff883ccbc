// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
)

func TestCheckAsksUnixSockets(t *testing.T) {
	if err := newProber(Dir(t.TempDir())).check(t.Context(), "unix:///nonexistent/csi.sock"); err == nil {
		t.Error("nobody listens there")
	}
}
