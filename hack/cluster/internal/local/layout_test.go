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

package local

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestForeignFoldersAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := Dir(dir).prepare(); err != nil {
		t.Errorf("an empty folder is fine: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Dir(dir).prepare(); err == nil {
		t.Error("a folder with something else in it must be refused")
	}
	if was, err := Down(t.Context(), Dir(dir), io.Discard); was || err != nil {
		t.Errorf("down: %v, %v", was, err)
	}
}

func TestSocketPathsAreShort(t *testing.T) {
	short, temp, err := Dir("/tmp/c").socket()
	if err != nil || short != "/tmp/c/csi.sock" || temp != "" {
		t.Errorf("got %s, %s, %v", short, temp, err)
	}
	path, temp, err := Dir("/tmp/" + strings.Repeat("x", 100)).socket()
	if err != nil || len(path) >= maxSocketPath || temp == "" {
		t.Errorf("got %s, %s, %v", path, temp, err)
	}
	_ = os.RemoveAll(temp)
}
