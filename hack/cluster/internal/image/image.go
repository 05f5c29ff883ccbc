// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image writes container images without a container engine. An image
// contains one program; its archive can be loaded with "docker load", "ctr images
// import" and "kind load image-archive".
package image

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Image describes an image. Equal images are written as equal bytes.
type Image struct {
	// Name is the full reference, including the tag.
	Name string
	// Program is the path of the program. It becomes the entrypoint, in /.
	Program string
	// User is "uid:gid". It defaults to root.
	User string
	// Arch is the architecture of the program. It defaults to that of this one.
	Arch   string
	Labels map[string]string
}

// passwd has the users of the distroless images.
const passwd = `root:x:0:0:root:/root:/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin
nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin
`

type file struct {
	name string
	mode int64
	body []byte
}

// WriteFile writes the image to an archive, by way of a temporary file, so that a failure leaves no archive.
func (i Image) WriteFile(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".image-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(i.Write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Write writes the image as an archive.
func (i Image) Write(w io.Writer) error {
	if repository, tag, _ := strings.Cut(path.Base(i.Name), ":"); repository == "" || tag == "" {
		return fmt.Errorf("invalid image name %q; it needs a name and a tag, such as controller:latest", i.Name)
	}
	layer, entrypoint, err := i.layer()
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": cmp.Or(i.Arch, runtime.GOARCH),
		"os":           "linux",
		"created":      time.Unix(0, 0).UTC(),
		"config": map[string]any{
			"Entrypoint": []string{entrypoint}, "User": i.User, "WorkingDir": "/", "Labels": i.Labels,
			"Env": []string{"PATH=/"},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
		"history": []map[string]any{{"created": time.Unix(0, 0).UTC(), "created_by": "COPY " + path.Base(i.Program) + " /"}},
	})
	if err != nil {
		return err
	}
	configName, layerName := digest(config)+".json", digest(layer)+"/layer.tar"
	manifest, err := json.Marshal([]map[string]any{
		{"Config": configName, "RepoTags": []string{i.Name}, "Layers": []string{layerName}},
	})
	if err != nil {
		return err
	}
	return writeTar(w, []file{{configName, 0o644, config}, {layerName, 0o644, layer}, {"manifest.json", 0o644, manifest}})
}

func (i Image) layer() (layer []byte, entrypoint string, err error) {
	program, err := os.ReadFile(i.Program)
	if err != nil {
		return nil, "", err
	}
	name := path.Base(i.Program)
	var b bytes.Buffer
	err = writeTar(&b, []file{
		{"etc/", 0o755, nil}, {"etc/passwd", 0o644, []byte(passwd)},
		{"tmp/", 0o1777, nil}, {name, 0o755, program},
	})
	return b.Bytes(), "/" + name, err
}

func writeTar(w io.Writer, files []file) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.body)), Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0)}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.body); err != nil {
			return err
		}
	}
	return t.Close()
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
