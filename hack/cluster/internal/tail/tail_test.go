// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if got := Lines(path, 3); got != nil {
		t.Errorf("no file should give no lines, got %v", got)
	}
	if got := Indented(path, 3); !strings.Contains(got, "nothing") {
		t.Errorf("got %q", got)
	}
	text := strings.Repeat("old\n", reach) + "one\ntwo\nthree\n\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Lines(path, 2); !slices.Equal(got, []string{"two", "three"}) {
		t.Errorf("got %v", got)
	}
	if got := Indented(path, 2); got != "    two\n    three" {
		t.Errorf("got %q", got)
	}
}
