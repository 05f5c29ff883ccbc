// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"strings"
	"testing"
)

func TestADamagedStateIsSaid(t *testing.T) {
	d := Dir(t.TempDir())
	if err := os.WriteFile(d.state(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(d); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("err = %v", err)
	}
}
