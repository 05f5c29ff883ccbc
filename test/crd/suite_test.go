// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd tries the API rules, defaults, printer columns and manifests on a real API server.
package crd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

const namespace = "default"

var (
	root    = filepath.Join("..", "..")
	crdsDir = filepath.Join(root, "config", "crd", "bases")
	crdFile = filepath.Join(crdsDir, "snapshots.mapcontroller.dev_snapshotschedules.yaml")

	scheduleKind = schema.GroupVersionKind{Group: v1alpha1.GroupName, Version: "v1alpha1", Kind: "SnapshotSchedule"}

	config *rest.Config
	// api refuses fields that the schema doesn't know, as kubectl has the server do.
	api client.Client
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		fmt.Fprintln(os.Stderr, "KUBEBUILDER_ASSETS is not set: these tests need kube-apiserver and etcd. Run them with: make test-integration")
		return 1
	}
	environment := &envtest.Environment{CRDDirectoryPaths: []string{crdsDir}, ErrorIfCRDPathMissing: true}
	started, err := environment.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "can't start an API server:", err)
		return 1
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "can't stop the API server:", err)
		}
	}()
	plain, err := client.New(started, client.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "can't make a client:", err)
		return 1
	}
	config, api = started, client.WithFieldValidation(plain, metav1.FieldValidationStrict)
	return m.Run()
}

// parse reads YAML as a user writes it.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatalf("the test's own YAML is malformed: %v\n%s", err, text)
	}
	return content
}

// newSchedule is a schedule with a spec given in YAML, and nothing that Go types would add.
func newSchedule(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": parse(t, spec)}}
	object.SetGroupVersionKind(scheduleKind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// create stores a schedule for the length of a test.
func create(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object := newSchedule(t, name, spec)
	if err := api.Create(t.Context(), object); err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := api.Delete(context.Background(), object); client.IgnoreNotFound(err) != nil {
			t.Errorf("delete %s: %v", name, err)
		}
	})
	return object
}
