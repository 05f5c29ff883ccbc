// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/node"
	"mapcontroller.dev/snapshotschedule/hack/cluster/internal/recipe"
)

// kubectl runs kubectl as the admin.
func (c *Cluster) kubectl(ctx context.Context, stdin string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.State.Bin, recipe.Kubectl), append([]string{
		"--kubeconfig=" + c.Dir.Kubeconfig(), "--server=" + c.State.Server, "--cache-dir=" + c.Dir.data("kubectl"),
	}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// applyCRDs applies the snapshot CRDs and waits until they are established.
func (c *Cluster) applyCRDs(ctx context.Context) error {
	dir := filepath.Join(c.State.Bin, recipe.CRDs)
	if err := c.kubectl(ctx, "", "apply", "--server-side", "--filename="+dir); err != nil {
		return err
	}
	return c.kubectl(ctx, "", "wait", "--for=condition=Established", "--timeout=30s", "--filename="+dir)
}

// applyClasses creates the default StorageClass and VolumeSnapshotClass.
func (c *Cluster) applyClasses(ctx context.Context) error {
	// An established CRD may not be served yet.
	return poll(ctx, 30*time.Second, func(ctx context.Context) error {
		return c.kubectl(ctx, classes, "apply", "--server-side", "--filename=-")
	})
}

// waitForNode waits until the node exists and is ready.
func (c *Cluster) waitForNode(ctx context.Context) error {
	return poll(ctx, 2*time.Minute, func(ctx context.Context) error {
		return c.kubectl(ctx, "", "wait", "--for=condition=Ready", "--timeout=30s", "node/"+node.Name)
	})
}

const classes = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: mock
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: mock.csi.k8s.io
reclaimPolicy: Delete
volumeBindingMode: Immediate
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata:
  name: mock
  annotations: {snapshot.storage.kubernetes.io/is-default-class: "true"}
driver: mock.csi.k8s.io
deletionPolicy: Delete
`
