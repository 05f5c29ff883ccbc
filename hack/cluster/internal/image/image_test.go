// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func unpack(t *testing.T, b []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestArchiveContainsTheProgramsAndTheirConfig(t *testing.T) {
	dir := t.TempDir()
	program, plugin := filepath.Join(dir, "manager"), filepath.Join(dir, "plugin")
	if err := errors.Join(os.WriteFile(program, []byte("a program"), 0o600), os.WriteFile(plugin, []byte("a plugin"), 0o600)); err != nil {
		t.Fatal(err)
	}
	i := Image{Name: "example.com/x:1", Program: program, Others: []string{plugin},
		User: "65532:65532", Arch: "s390x", Labels: map[string]string{"a": "b"}}
	archive, err := i.Archive()
	again, againErr := i.Archive()
	if err := errors.Join(err, againErr); err != nil || !bytes.Equal(archive, again) {
		t.Fatalf("the same image has different bytes, or %v", err)
	}
	files := unpack(t, archive)
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil || manifest[0].RepoTags[0] != i.Name {
		t.Fatal(manifest, err)
	}
	layer := files[manifest[0].Layers[0]]
	if got := unpack(t, layer); string(got["manager"]) != "a program" || string(got["plugin"]) != "a plugin" {
		t.Errorf("the programs are %q and %q", got["manager"], got["plugin"])
	}
	var config struct {
		Architecture string
		Config       struct {
			Entrypoint []string
			User       string
			Labels     map[string]string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	err = json.Unmarshal(files[manifest[0].Config], &config)
	if c := config.Config; err != nil || c.Entrypoint[0] != "/manager" || c.User != i.User || c.Labels["a"] != "b" ||
		config.Architecture != i.Arch || config.RootFS.DiffIDs[0] != "sha256:"+digest(layer) {
		t.Errorf("the config is %+v, %v", config, err)
	}
}

func TestANameNeedsATag(t *testing.T) {
	for _, name := range []string{"", "controller", "localhost:5000/controller", "x/:1"} {
		if _, err := (Image{Name: name}).Archive(); err == nil || !strings.Contains(err.Error(), "image name") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
