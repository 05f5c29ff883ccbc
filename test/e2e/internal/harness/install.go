// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/onsi/gomega"
)

// SystemNamespace and Account are the operator's, as shipped.
const (
	SystemNamespace = "snapshotschedule-system"
	Account         = "snapshotschedule-controller-manager"
)

// fieldOwner is who applies what the suites apply.
const fieldOwner = client.FieldOwner("e2e")

// Kustomize builds a folder of the repository's with the kustomize it pins.
func Kustomize(folder string) []byte {
	cmd := exec.Command("go", "tool", "-modfile=hack/tools/kustomize.mod", "kustomize", "build", folder)
	cmd.Dir = Root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	must(err, "kustomize build %s: %s", folder, &stderr)
	return out
}

// Decode reads a stream of YAML documents.
func Decode(text []byte) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := documents.Decode(o)
		if errors.Is(err, io.EOF) {
			return all
		}
		must(err, "YAML:\n%s", text)
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

// Install applies config/default as shipped, but for the Deployment: the specs
// run the manager themselves.
func (c *Cluster) Install(ctx context.Context) {
	var crds []*unstructured.Unstructured
	for _, o := range Decode(Kustomize("config/default")) {
		switch o.GetKind() {
		case "Deployment":
			continue
		case "CustomResourceDefinition":
			crds = append(crds, o)
		}
		c.Apply(ctx, o)
	}
	c.WaitForCRDs(ctx, crds...)
}

// Apply applies an object by server-side apply.
func (c *Cluster) Apply(ctx context.Context, o *unstructured.Unstructured) {
	// The answer is written into what is applied.
	applied := client.ApplyConfigurationFromUnstructured(o.DeepCopy())
	err := c.Client.Apply(ctx, applied, fieldOwner, client.ForceOwnership)
	must(err, "apply %s %s", o.GetKind(), o.GetName())
}

// WaitForCRDs waits until the API server serves their first version.
func (c *Cluster) WaitForCRDs(ctx context.Context, crds ...*unstructured.Unstructured) {
	for _, crd := range crds {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		version := versions[0].(map[string]any)["name"].(string)
		EventuallyWithOffset(1, func(g Gomega) {
			resources, err := c.Kube.Discovery().ServerResourcesForGroupVersion(group + "/" + version)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(resources.APIResources).To(ContainElement(HaveField("Name", plural)))
			all := &unstructured.UnstructuredList{}
			all.SetAPIVersion(group + "/" + version)
			all.SetKind(kind + "List")
			g.Expect(c.Client.List(ctx, all, client.Limit(1))).To(Succeed())
		}).WithContext(ctx).Should(Succeed(), "the API server should serve %s", crd.GetName())
	}
}

// SnapshotCRDs are the CRDs of VolumeSnapshot and its companions, from the
// folder that the local cluster's program has built.
func SnapshotCRDs() []*unstructured.Unstructured {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	files, err := filepath.Glob(filepath.Join(assets, "crds", "snapshot.storage.k8s.io_*.yaml"))
	must(err, "snapshot CRDs")
	Expect(files).To(HaveLen(3), "the snapshot CRDs in $KUBEBUILDER_ASSETS/crds (%s)", assets)
	var crds []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(err, "snapshot CRDs")
		crds = append(crds, Decode(text)...)
	}
	return crds
}

// Kubectl runs kubectl as the administrator and returns what it says.
func (c *Cluster) Kubectl(stdin []byte, args ...string) (string, error) {
	cmd := exec.Command("kubectl", args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}
