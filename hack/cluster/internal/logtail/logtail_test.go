// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package logtail

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if got := Lines(path, 3); got != nil {
		t.Errorf("got %v from a missing file", got)
	}
	if got := Quote(path, 3); !strings.Contains(got, "(empty)") {
		t.Errorf("got %q", got)
	}
	text := strings.Repeat("old\n", window) + "one\ntwo\nthree\n\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Lines(path, 2); !slices.Equal(got, []string{"two", "three"}) {
		t.Errorf("got %v", got)
	}
	if got := Quote(path, 2); !strings.HasSuffix(got, ":\n    two\n    three") {
		t.Errorf("got %q", got)
	}
}
