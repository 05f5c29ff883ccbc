// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests tests the rendered manifests, without an API server.
package manifests

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/diff"

	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// root is the repository's root.
const root = "../.."

// image has every part that the name of an image can have.
const image = "registry.example.com:5000/backup/snapshotschedule:v1.2.3@sha256:" +
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// It renders as make build-installer does.
func TestInstallerChangesOnlyTheImage(t *testing.T) {
	target := run(t, "make", "--no-print-directory", "--dry-run", "build-installer", "IMG="+image)
	if want := "hack/render.sh config/default '" + image + "' > dist/install.yaml"; !strings.Contains(target, want) {
		t.Fatalf("build-installer does not run %s:\n%s", want, target)
	}
	for _, input := range []string{"config", "hack/render.sh", "Makefile"} {
		files(t, input)
	}
	for _, folder := range []string{"config/default", "config/namespaced"} {
		before := files(t, "config/manager")
		got := decode(t, run(t, "hack/render.sh", folder, image))
		if after := files(t, "config/manager"); !equality.Semantic.DeepEqual(before, after) {
			t.Errorf("rendering %s changed the tree: %s", folder, diff.Diff(before, after))
		}
		want := decode(t, run(t, "go", "tool", "-modfile=hack/tools/kustomize.mod", "kustomize", "build", folder))
		deployments := 0
		for _, o := range want {
			if o.GetKind() != "Deployment" {
				continue
			}
			deployments++
			containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			if err != nil || len(containers) != 1 {
				t.Fatalf("%d containers: %v", len(containers), err)
			}
			containers[0].(map[string]any)["image"] = image
			if err := unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers"); err != nil {
				t.Fatal(err)
			}
		}
		if deployments != 1 {
			t.Errorf("%s has %d Deployments", folder, deployments)
		}
		if !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("%s: %s", folder, diff.Diff(want, got))
		}
	}
}

// Deleting a CRD deletes all schedules and their snapshots. Neither deleting what installs the operator nor a tool that prunes may do that.
func TestDeletingTheOperatorKeepsTheCRDs(t *testing.T) {
	for _, folder := range []string{"config/default", "config/namespaced", "config/monitoring"} {
		for _, o := range render(t, folder) {
			if o.GetKind() == "CustomResourceDefinition" {
				t.Errorf("%s has %s", folder, o.GetName())
			}
		}
	}
	bases, err := filepath.Glob(filepath.Join(root, "config/crd/bases/*.yaml"))
	if err != nil || len(bases) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	crds := render(t, "config/crd")
	for _, o := range crds {
		if o.GetKind() != "CustomResourceDefinition" {
			t.Errorf("config/crd has %s %s", o.GetKind(), o.GetName())
		}
		for key, want := range map[string]string{
			"helm.sh/resource-policy":           "keep",
			"argocd.argoproj.io/sync-options":   "Prune=false,Delete=false",
			"kustomize.toolkit.fluxcd.io/prune": "disabled",
		} {
			if got := o.GetAnnotations()[key]; got != want {
				t.Errorf("%s: annotation %s is %q, want %q", o.GetName(), key, got, want)
			}
		}
	}
	if len(crds) != len(bases) {
		t.Errorf("config/crd has %d of %d CRDs", len(crds), len(bases))
	}
	if recipe := run(t, "make", "--no-print-directory", "--dry-run", "undeploy"); strings.Contains(recipe, "config/crd") {
		t.Errorf("make undeploy deletes the CRDs:\n%s", recipe)
	}
}

// 'kustomize edit set image' would change config/manager, so that the images of an overlay match nothing any more. With a client-side
// apply, the server-side apply of an upgrade would conflict.
func TestDeployAppliesServerSideAndKeepsTheCheckout(t *testing.T) {
	recipe := run(t, "make", "--no-print-directory", "--dry-run", "deploy", "IMG="+image, "KUSTOMIZE=kustomize", "KUBECTL=kubectl")
	want := []string{
		"kustomize build config/crd | kubectl apply --server-side -f -",
		"hack/render.sh config/default '" + image + "' | kubectl apply --server-side -f -",
	}
	for _, command := range want {
		if !strings.Contains(recipe, command) {
			t.Errorf("make deploy does not run %s:\n%s", command, recipe)
		}
	}
	if strings.Contains(recipe, "edit set image") {
		t.Errorf("make deploy changes the checkout:\n%s", recipe)
	}
}

// The name is inserted into YAML.
func TestInstallerRejectsInvalidImageNames(t *testing.T) {
	for _, name := range []string{"", "a b", `a"`, "a\nb", "$(id)", "-a"} {
		cmd := exec.Command("hack/render.sh", "config/default", name)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "'"+name+"'") {
			t.Errorf("%q: %v: %s", name, err, out)
		}
	}
}

// The docs and the exceptions in hack/lint-manifests.sh rely on these properties.
func TestDeployment(t *testing.T) {
	for _, folder := range []string{"config/default", "config/namespaced"} {
		d := deployment(t, folder)
		if got := *d.Spec.Replicas; got != 2 {
			t.Errorf("%s: %d replicas", folder, got)
		}
		pod := d.Spec.Template.Spec
		manager := pod.Containers[0]
		if !strings.Contains(strings.Join(manager.Args, " "), "--leader-elect") {
			t.Errorf("%s: %d replicas without leader election: %q", folder, *d.Spec.Replicas, manager.Args)
		}
		if len(pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			t.Errorf("%s: the second replica cannot run on a single node", folder)
		}
		for name, list := range map[string]corev1.ResourceList{"requests": manager.Resources.Requests, "limits": manager.Resources.Limits} {
			for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
				if _, ok := list[resource]; !ok {
					t.Errorf("%s: no %s of %s", folder, name, resource)
				}
			}
		}
		container := manager.SecurityContext
		if !*container.ReadOnlyRootFilesystem || *container.AllowPrivilegeEscalation || !*pod.SecurityContext.RunAsNonRoot {
			t.Errorf("%s: %+v, %+v", folder, manager.SecurityContext, pod.SecurityContext)
		}
	}
}

// Without runAsUser in the Deployment, the kubelet can verify runAsNonRoot only if the image's user is a number.
func TestImageUserIsANumber(t *testing.T) {
	text := read(t, "Dockerfile")
	user := regexp.MustCompile(`(?m)^USER (\d+):(\d+)$`).FindStringSubmatch(text)
	if user == nil {
		t.Fatal("the Dockerfile has no USER with two numbers")
	}
	for _, id := range user[1:] {
		if n, err := strconv.Atoi(id); err != nil || n <= 10000 {
			t.Errorf("%s may be used by the host", id)
		}
	}
	manager := deployment(t, "config/default").Spec.Template.Spec.Containers[0]
	if want := `ENTRYPOINT ["` + manager.Command[0] + `"]`; !strings.Contains(text, want) {
		t.Errorf("the Dockerfile has no %s", want)
	}
}

func deployment(t *testing.T, folder string) *appsv1.Deployment {
	t.Helper()
	for _, o := range render(t, folder) {
		if o.GetKind() == "Deployment" {
			return as[appsv1.Deployment](t, o)
		}
	}
	t.Fatalf("%s has no Deployment", folder)
	return nil
}

// run returns the output of a command, run in the repository's root.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, &stderr)
	}
	return string(out)
}

// rendered are the manifests by folder: rendering takes a second.
var rendered = map[string]string{}

// render returns the objects of a folder with the image, as they are shipped.
func render(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	files(t, "config")
	if rendered[folder] == "" {
		rendered[folder] = run(t, "hack/render.sh", folder, image)
	}
	return decode(t, rendered[folder])
}

// as converts an object to its type. Unknown fields are errors.
func as[T any](t *testing.T, o *unstructured.Unstructured) *T {
	t.Helper()
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, typed, true); err != nil {
		t.Fatal(err)
	}
	return typed
}

func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	all, err := repo.Decode([]byte(text))
	if err != nil || len(all) == 0 {
		t.Fatalf("%d objects were rendered: %v", len(all), err)
	}
	return all
}

// read returns a file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// files returns the files of a folder by path. Go does not use a cached test result if a file changed that the test itself opened;
// it does not know which files a child process reads.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
