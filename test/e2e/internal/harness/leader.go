// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"os/exec"
)

// In a pod the operator finds the namespace of its lease in a file of its
// ServiceAccount. This gives a program that file, in a mount namespace of its
// own.
const inPod = `mount -t tmpfs none /run && mkdir -p /var/run/secrets/kubernetes.io/serviceaccount &&
printf %s "$0" >/var/run/secrets/kubernetes.io/serviceaccount/namespace && exec "$@"`

// StartElected starts an operator that takes part in leader election, with some
// more flags.
func (c *Cluster) StartElected(ctx context.Context, flags ...string) *Operator {
	program := BuildOperator()
	const flag = "leader-election-namespace"
	if help, _ := exec.Command(program, "--help").CombinedOutput(); bytes.Contains(help, []byte(flag)) {
		return c.Start(ctx, append(flags, "--leader-elect", "--"+flag+"="+c.System)...)
	}
	o := c.launch(ctx, []string{"unshare", "--map-root-user", "--mount", "sh", "-c", inPod, c.System, program}, append(flags, "--leader-elect")...)
	o.WaitReady(ctx)
	return o
}
