// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// fieldOwner is the field manager of what the suites apply.
const fieldOwner = client.FieldOwner("e2e")

// Kustomize builds a folder of the repository.
func Kustomize(folder string) []byte {
	text, err := repo.Kustomize(context.Background(), Root, folder)
	must(err, "kustomize")
	return text
}

// Decode reads a stream of YAML documents.
func Decode(text []byte) []*unstructured.Unstructured {
	all, err := repo.Decode(text)
	must(err, "YAML:\n%s", text)
	return all
}

// SnapshotCRDs are the CRDs of VolumeSnapshots.
func SnapshotCRDs() []*unstructured.Unstructured {
	crds, err := repo.SnapshotCRDs()
	must(err, "snapshot CRDs")
	return crds
}

// Install applies config/default, except the Deployment: the specs run the manager themselves.
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
	// Apply overwrites its argument with the answer.
	applied := client.ApplyConfigurationFromUnstructured(o.DeepCopy())
	err := c.Client.Apply(ctx, applied, fieldOwner, client.ForceOwnership)
	must(err, "apply %s %s", o.GetKind(), o.GetName())
}

// WaitForCRDs waits until the first versions of CRDs are available.
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
		}).WithContext(ctx).Should(Succeed(), "%s should be available", crd.GetName())
	}
}

// Kubectl runs kubectl as the administrator and returns its output.
func (c *Cluster) Kubectl(stdin []byte, args ...string) (string, error) {
	cmd := exec.Command("kubectl", args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}
