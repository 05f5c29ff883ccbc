// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"testing/fstest"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Read reads objects from a stream of YAML documents.
func Read(from io.Reader) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(from))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read YAML: %w", err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &o.Object); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		// A document can consist of comments only.
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

// Write writes files to a folder, in which none of them exists.
func Write(folder string, files map[string]string) error {
	all := fstest.MapFS{}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return os.CopyFS(folder, all)
}

// Package writes the package of a chart, as 'helm package' does.
func Package(folder, into string) error {
	c, err := loader.LoadDir(folder)
	if err != nil {
		return err
	}
	path, err := util.Save(c, into)
	if err != nil {
		return err
	}
	fmt.Println("wrote", path)
	return nil
}
