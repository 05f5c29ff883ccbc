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

func TestArchiveContainsTheProgramAndItsConfig(t *testing.T) {
	program := filepath.Join(t.TempDir(), "manager")
	if err := os.WriteFile(program, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	i := Image{Name: "example.com/x:1", Program: program, User: "65532:65532", Arch: "s390x", Labels: map[string]string{"a": "b"}}
	var first, again bytes.Buffer
	if err := errors.Join(i.Write(&first), i.Write(&again)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), again.Bytes()) {
		t.Error("the same image was written as different bytes")
	}
	files := unpack(t, first.Bytes())
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	m := manifest[0]
	if m.RepoTags[0] != i.Name {
		t.Errorf("the name is %v", m.RepoTags)
	}
	layer := files[m.Layers[0]]
	if got := unpack(t, layer)["manager"]; string(got) != "a program" {
		t.Errorf("the program is %q", got)
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
	if err := json.Unmarshal(files[m.Config], &config); err != nil {
		t.Fatal(err)
	}
	if config.Config.Entrypoint[0] != "/manager" || config.Config.User != i.User || config.Config.Labels["a"] != "b" {
		t.Errorf("the config is %+v", config)
	}
	if config.Architecture != "s390x" {
		t.Errorf("the architecture is %s", config.Architecture)
	}
	if config.RootFS.DiffIDs[0] != "sha256:"+digest(layer) {
		t.Error("the digest of the layer is wrong")
	}
}

func TestWriteRejectsANameWithoutTag(t *testing.T) {
	for _, name := range []string{"", "controller", "localhost:5000/controller", "x/:1"} {
		if err := (Image{Name: name}).Write(io.Discard); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
}
