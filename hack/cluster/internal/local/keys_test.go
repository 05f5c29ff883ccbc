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
	"os"
	"path/filepath"
	"testing"
)

func TestKeysArePrivate(t *testing.T) {
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
