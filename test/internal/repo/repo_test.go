// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRootIsFoundFromBelowAndNotFromOutside(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Error(err)
	}
	t.Chdir(t.TempDir())
	if root, err := Root(); err == nil {
		t.Errorf("got %s outside the repository", root)
	}
}

func TestDecodeSkipsEmptyDocumentsAndReportsErrors(t *testing.T) {
	all, err := Decode([]byte("---\n# nothing\n---\nkind: A\napiVersion: v1\n---\nkind: B\napiVersion: v1\n"))
	if err != nil || len(all) != 2 || all[0].GetKind() != "A" || all[1].GetKind() != "B" {
		t.Errorf("got %v, %v", all, err)
	}
	if all, err := Decode([]byte("kind: [")); err == nil {
		t.Errorf("got %v and no error", all)
	}
}
