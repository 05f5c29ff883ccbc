/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
