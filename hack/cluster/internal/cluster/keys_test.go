// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

func TestKeysAreReadableByTheUserOnly(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "c"))
	if err := d.prepare(); err != nil {
		t.Fatal(err)
	}
	k, err := writeKeys(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.writeKubeconfigs(d, "https://127.0.0.1:1", "https://127.0.0.1:2"); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(string(d), func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
