// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image writes container images without a container engine. An image
// contains static programs and nothing else; its archive can be loaded with "docker load", "ctr images
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
	"io/fs"
	"os"
	"path"
	"regexp"
	"runtime"
	"strings"
	"testing/fstest"
	"time"
)

// Image describes an image. Equal images are written as equal bytes.
type Image struct {
	// Name is the full reference, including the tag.
	Name string
	// Program is the path of the program. It becomes the entrypoint, in /.
	Program string
	// Others are the paths of more programs in /.
	Others []string
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

// epoch is the time of all files.
var epoch = time.Unix(0, 0).UTC()

// Archive returns the image as an archive.
func (i Image) Archive() ([]byte, error) {
	if !regexp.MustCompile(`^(.+/)?[^/:]+:[^/:]+$`).MatchString(i.Name) {
		return nil, fmt.Errorf("invalid image name %q; it needs a name and a tag, such as controller:latest", i.Name)
	}
	files := fstest.MapFS{
		"etc":        {Mode: fs.ModeDir | 0o755},
		"etc/passwd": {Mode: 0o644, Data: []byte(passwd)},
		"tmp":        {Mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
	var names []string
	for _, program := range append([]string{i.Program}, i.Others...) {
		text, err := os.ReadFile(program)
		if err != nil {
			return nil, err
		}
		names = append(names, path.Base(program))
		files[path.Base(program)] = &fstest.MapFile{Mode: 0o755, Data: text}
	}
	layer, err := tarOf(files)
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": cmp.Or(i.Arch, runtime.GOARCH),
		"os":           "linux",
		"created":      epoch,
		"config": map[string]any{
			"Entrypoint": []string{"/" + names[0]}, "User": i.User, "WorkingDir": "/", "Labels": i.Labels,
			"Env": []string{"PATH=/"},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
		"history": []map[string]any{{"created": epoch, "created_by": "COPY " + strings.Join(names, " ") + " /"}},
	})
	if err != nil {
		return nil, err
	}
	configName, layerName := digest(config)+".json", digest(layer)+".tar"
	manifest, err := json.Marshal([]map[string]any{
		{"Config": configName, "RepoTags": []string{i.Name}, "Layers": []string{layerName}},
	})
	if err != nil {
		return nil, err
	}
	return tarOf(fstest.MapFS{
		configName: {Mode: 0o644, Data: config}, layerName: {Mode: 0o644, Data: layer}, "manifest.json": {Mode: 0o644, Data: manifest},
	})
}

func tarOf(files fstest.MapFS) ([]byte, error) {
	for _, f := range files {
		f.ModTime = epoch
	}
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	err := errors.Join(t.AddFS(files), t.Close())
	return b.Bytes(), err
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
