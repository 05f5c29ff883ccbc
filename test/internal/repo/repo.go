// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repo finds and builds what the repository ships: the operator's program and the manifests.
package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Root returns the repository's root, which is the working directory or above it.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "PROJECT")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("the working directory is not inside the repository")
		}
		dir = parent
	}
}

// BuildOperator builds the operator's program into a folder, with the settings of the image.
func BuildOperator(ctx context.Context, root, dir string) (string, error) {
	path := filepath.Join(dir, "manager")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "grpcnotrace", "-o", path, "./cmd")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd: %w\n%s", err, out)
	}
	return path, nil
}

// Kustomize builds a folder with the kustomize that the repository pins.
func Kustomize(ctx context.Context, root, folder string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "-modfile=hack/tools/kustomize.mod", "kustomize", "build", folder)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = root, &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w: %s", folder, err, &stderr)
	}
	return out, nil
}

// Shipped returns the objects of config/crd and config/default, except the Deployment: tests run
// the operator themselves.
func Shipped(ctx context.Context, root string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, folder := range []string{"config/crd", "config/default"} {
		text, err := Kustomize(ctx, root, folder)
		if err != nil {
			return nil, err
		}
		more, err := Decode(text)
		if err != nil {
			return nil, err
		}
		objects = append(objects, more...)
	}
	return slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" }), nil
}

// SnapshotCRDFiles returns the files of the CRDs of VolumeSnapshots, of their contents and of their classes: those of the module whose types
// the operator uses.
func SnapshotCRDFiles() ([]string, error) {
	return crdFiles("v6", "snapshot", "volumesnapshots", "volumesnapshotcontents", "volumesnapshotclasses")
}

// GroupSnapshotCRDFiles returns those of VolumeGroupSnapshots.
func GroupSnapshotCRDFiles() ([]string, error) {
	return crdFiles("v8", "groupsnapshot", "volumegroupsnapshots", "volumegroupsnapshotcontents", "volumegroupsnapshotclasses")
}

func crdFiles(major, group string, plurals ...string) (files []string, err error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubernetes-csi/external-snapshotter/client/"+major)
	dir, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	for _, plural := range plurals {
		files = append(files, filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", group+".storage.k8s.io_"+plural+".yaml"))
	}
	return files, nil
}

// SnapshotCRDs reads them.
func SnapshotCRDs() ([]*unstructured.Unstructured, error) {
	files, err := SnapshotCRDFiles()
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		crds, err := Decode(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, crds...)
	}
	return all, nil
}

// Decode reads a stream of YAML documents.
func Decode(text []byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := documents.Decode(o)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}
