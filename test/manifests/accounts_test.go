// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// opsNamespace is where the Jobs of the samples for the application my-app run: each application has its own, because an account there may
// run pods in the application's namespace. config/guardrails/snapshot_ops.yaml bounds what else they may change.
const opsNamespace = "my-app-snapshot-ops"

// Whoever may edit a namespace may use every ServiceAccount in it.
func TestSamplesGrantNoChangeOfSnapshotsOrSchedulesToAccountsOfTheApplicationsNamespace(t *testing.T) {
	guarded := []string{"snapshotschedules", "clustersnapshotschedules", "volumesnapshots", "volumegroupsnapshots", "*"}
	readOnly := []string{"get", "list", "watch"}
	tested := 0
	for _, folder := range sampleFolders(t) {
		rendered := render(t, folder)
		changes := map[string]bool{} // by kind, namespace and name of the role
		for _, o := range rendered {
			if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
				continue
			}
			for _, rule := range as[rbacv1.ClusterRole](t, o).Rules {
				resource := slices.ContainsFunc(rule.Resources, func(r string) bool { return slices.Contains(guarded, r) })
				verb := slices.ContainsFunc(rule.Verbs, func(v string) bool { return !slices.Contains(readOnly, v) })
				changes[o.GetKind()+o.GetNamespace()+"/"+o.GetName()] = resource && verb || changes[o.GetKind()+o.GetNamespace()+"/"+o.GetName()]
			}
		}
		for _, o := range rendered {
			if !strings.HasSuffix(o.GetKind(), "RoleBinding") {
				continue
			}
			binding := as[rbacv1.ClusterRoleBinding](t, o)
			in := ""
			if binding.RoleRef.Kind == "Role" {
				in = o.GetNamespace()
			}
			if !changes[binding.RoleRef.Kind+in+"/"+binding.RoleRef.Name] {
				continue
			}
			tested++
			for _, subject := range binding.Subjects {
				if subject.Namespace != opsNamespace || o.GetNamespace() == opsNamespace {
					t.Errorf("%s: %s %s/%s lets %s of namespace %q change snapshots or schedules there",
						folder, o.GetKind(), o.GetNamespace(), o.GetName(), subject.Name, subject.Namespace)
				}
			}
		}
	}
	if tested < 3 {
		t.Errorf("only %d bindings were found", tested)
	}
}

// sampleFolders are the folders of config/samples with a kustomization.
func sampleFolders(t *testing.T) (folders []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), "config/samples", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) == "kustomization.yaml" {
			folders = append(folders, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

// build builds a kustomization, which may be a component.
func build(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	files(t, "config")
	text, err := repo.Kustomize(t.Context(), root, folder)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, string(text))
}

// The guardrails know the operator by the name of its ServiceAccount.
func TestGuardrailsNameTheServiceAccountOfTheOperator(t *testing.T) {
	operator := func(objects []*unstructured.Unstructured) (found string) {
		for _, o := range objects {
			variables, _, _ := unstructured.NestedSlice(o.Object, "spec", "variables")
			for _, v := range variables {
				if v := v.(map[string]any); v["name"] == "operator" {
					found = v["expression"].(string)
				}
			}
		}
		return found
	}
	account := func(objects []*unstructured.Unstructured) string {
		for _, o := range objects {
			if o.GetKind() == "ServiceAccount" && strings.HasSuffix(o.GetName(), "controller-manager") {
				return fmt.Sprintf("'system:serviceaccount:' + '%s' + ':' + '%s'", o.GetNamespace(), o.GetName())
			}
		}
		t.Fatal("no ServiceAccount")
		return ""
	}
	if got, want := operator(build(t, "config/guardrails")), account(render(t, "config/default")); got != want {
		t.Errorf("applied alone: %s, want %s", got, want)
	}

	dir := t.TempDir()
	overlay(t, dir, "overlay", "namespace: backup\nnamePrefix: team-\nresources: [%s]\n", "config/default")
	overlay(t, dir, "above", "resources: [../overlay]\ncomponents: [%s, %s]\n", "config/guardrails", "config/guardrails/operator")
	objects := build(t, filepath.Join(dir, "above"))
	got, want := operator(objects), account(objects)
	if got != want || !strings.Contains(want, "'backup' + ':' + 'team-snapshotschedule-controller-manager'") {
		t.Errorf("above an overlay: %s, want %s", got, want)
	}
}

// overlay writes the kustomization of a folder of dir. Its text has a verb for each path, which is relative to the repository's root.
func overlay(t *testing.T, dir, folder, format string, relative ...string) {
	t.Helper()
	to := filepath.Join(dir, folder)
	var paths []any
	for _, path := range relative {
		absolute, err := filepath.Abs(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		path, err := filepath.Rel(to, absolute)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "kustomization.yaml"), fmt.Appendf(nil, format, paths...), 0o600); err != nil {
		t.Fatal(err)
	}
}
