// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrepareRejectsAFolderWithOtherContent(t *testing.T) {
	dir := t.TempDir()
	if err := Dir(dir).prepare(); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Dir(dir).prepare(); err == nil {
		t.Error("accepted a folder with other content")
	}
	if was, err := Down(t.Context(), Dir(dir), io.Discard); was || err != nil {
		t.Errorf("down: %v, %v", was, err)
	}
}

func TestSocketPathIsShort(t *testing.T) {
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

func TestLoadReportsACorruptState(t *testing.T) {
	d := Dir(t.TempDir())
	if err := os.WriteFile(d.state(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(d); err == nil || !strings.Contains(err.Error(), "corrupt") {
		t.Errorf("err = %v", err)
	}
}
