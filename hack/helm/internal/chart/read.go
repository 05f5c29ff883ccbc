// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Read reads a stream of YAML documents. That there is none is an error.
func Read(from io.Reader) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(from))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading YAML: %w", err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &o.Object); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		// A template that renders to nothing but comments.
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no objects: kustomize build hack/helm/source has to be given on standard input")
	}
	return all, nil
}
