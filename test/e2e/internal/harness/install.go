// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

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

// Install applies config/crd and config/default, except the Deployment: the specs run the manager themselves.
func (c *Cluster) Install(ctx context.Context) {
	shipped, err := repo.Shipped(ctx, Root)
	must(err, "kustomize")
	c.Apply(ctx, shipped...)
}

// Apply applies objects and waits until the kinds of CRDs among them are available.
func (c *Cluster) Apply(ctx context.Context, objects ...*unstructured.Unstructured) {
	must(cluster.Install(ctx, c.Client, c.Kube.Discovery(), objects...), "apply")
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
