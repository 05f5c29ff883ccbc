// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kustomize builds one of the config directories.
func kustomize(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "tool", "-modfile="+filepath.Join("hack", "tools", "kustomize.mod"),
		"kustomize", "build", dir)
	build.Dir = root
	var failure bytes.Buffer
	build.Stderr = &failure
	output, err := build.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", build, err, failure.String())
	}

	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(output), 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(&object.Object); {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatal(err)
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// apply is kubectl apply --server-side --validate=strict.
func apply(ctx context.Context, object *unstructured.Unstructured, options ...client.ApplyOption) error {
	options = append(options, client.FieldOwner("test"), client.ForceOwnership)
	return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...)
}

func only[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) *T {
	t.Helper()
	var found *T
	for _, object := range objects {
		if object.GetKind() != kind {
			continue
		}
		if found != nil {
			t.Fatalf("there is more than one %s", kind)
		}
		found = new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, found, true); err != nil {
			t.Fatal(err)
		}
	}
	if found == nil {
		t.Fatalf("there is no %s", kind)
	}
	return found
}

// TestDeployment applies what "make deploy" applies. Pod Security is enforced by the API server,
// so the manager's pod is tried too, in the namespace that is shipped.
func TestDeployment(t *testing.T) {
	objects := kustomize(t, "config/default")
	system := only[corev1.Namespace](t, objects, "Namespace")
	if err := api.Create(t.Context(), system.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.Delete(context.Background(), system); err != nil {
			t.Error(err)
		}
	})

	for _, object := range objects {
		t.Run(object.GetKind()+" "+object.GetName(), func(t *testing.T) {
			if !strings.HasPrefix(object.GetName(), "snapshotschedule-") && object.GetKind() != "CustomResourceDefinition" {
				t.Error("its name has no prefix")
			}
			if namespace := object.GetNamespace(); namespace != "" && namespace != system.Name {
				t.Errorf("it is in namespace %s", namespace)
			}
			if err := apply(t.Context(), object, client.DryRunAll); err != nil {
				t.Error(err)
			}
		})
	}

	template := only[appsv1.Deployment](t, objects, "Deployment").Spec.Template
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: system.Name, Name: "manager", Labels: template.Labels},
		Spec:       template.Spec,
	}
	t.Run("the manager's pod is admitted as restricted", func(t *testing.T) {
		if err := api.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
			t.Error(err)
		}
	})
	t.Run("a pod that could escalate is not", func(t *testing.T) {
		worse := pod.DeepCopy()
		worse.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true)
		err := api.Create(t.Context(), worse, client.DryRunAll)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "restricted") {
			t.Errorf("want a refusal by Pod Security, got %v", err)
		}
	})
	t.Run("the manager can't write to its root file system", func(t *testing.T) {
		if context := pod.Spec.Containers[0].SecurityContext; !ptr.Deref(context.ReadOnlyRootFilesystem, false) {
			t.Error("readOnlyRootFilesystem is not true")
		}
	})
}

func TestNetworkPolicy(t *testing.T) {
	for _, object := range kustomize(t, "config/network-policy") {
		object.SetNamespace(namespace)
		if err := apply(t.Context(), object, client.DryRunAll); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// The ServiceMonitor's CRD is not ours to install; that it builds is what can be tried.
func TestMonitoringBuilds(t *testing.T) {
	var kinds []string
	for _, o := range kustomize(t, "config/prometheus") {
		kinds = append(kinds, o.GetKind())
	}
	if slices.Sort(kinds); !slices.Equal(kinds, []string{"PrometheusRule", "ServiceMonitor"}) {
		t.Errorf("got %v", kinds)
	}
}

func TestSamples(t *testing.T) {
	objects := kustomize(t, "config/samples")
	files, err := filepath.Glob(filepath.Join(root, "config", "samples", "snapshots_*.yaml"))
	if err != nil || len(files) == 0 || len(objects) != len(files) {
		t.Errorf("%d samples are built from %d files (%v)", len(objects), len(files), err)
	}
	for _, object := range objects {
		object.SetNamespace(namespace)
		if err := apply(t.Context(), object, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", object.GetName(), err)
		}
	}
}

// With the metrics certificates and the network policy switched on, the tree still builds.
func TestCommentedPartsBuild(t *testing.T) {
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(root, "config"))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(copied, "default", "kustomization.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for _, part := range []string{
		"- ../prometheus", "- ../network-policy", "- path: cert_metrics_manager_patch.yaml\n#  target:\n#    kind: Deployment",
	} {
		commented := "#" + part
		if !strings.Contains(text, commented) {
			t.Errorf("%q is not in config/default/kustomization.yaml", commented)
		}
		text = strings.Replace(text, commented, strings.ReplaceAll(part, "\n#", "\n"), 1)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	manager := only[appsv1.Deployment](t, kustomize(t, filepath.Join(copied, "default")), "Deployment").Spec.Template.Spec
	if len(manager.Volumes) != 1 || len(manager.Containers[0].VolumeMounts) != 1 {
		t.Error("the certificates are not mounted")
	}
}
