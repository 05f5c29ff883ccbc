// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/test/internal/operator"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// Operator is one process of the operator's program.
type Operator struct {
	*operator.Operator
	// Credential identifies its token in the audit log.
	Credential string
}

// program builds the operator once for a suite.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "snapsched-e2e-")
	if err != nil {
		return "", err
	}
	return repo.BuildOperator(context.Background(), Root, dir)
})

// BuildOperator builds the operator's program unless that was done before.
func BuildOperator() string {
	path, err := program()
	must(err, "build the operator")
	return path
}

// RemoveProgram removes what BuildOperator has built.
func RemoveProgram() {
	if path, err := program(); err == nil {
		must(os.RemoveAll(filepath.Dir(path)), "remove the operator's program")
	}
}

// Launch starts the operator as the shipped ServiceAccount and does not wait for it. It is killed
// at the end of the node of the suite that started it.
func (c *Cluster) Launch(ctx context.Context, flags ...string) *Operator {
	dir := GinkgoT().TempDir()
	kubeconfig, credential := c.writeKubeconfig(ctx, dir)
	started, err := operator.Start(context.WithoutCancel(ctx), operator.Options{
		Command: []string{BuildOperator()}, Kubeconfig: kubeconfig, Flags: flags, Dir: dir, Name: "operator",
	})
	must(err, "start the operator")
	o := &Operator{Operator: started, Credential: credential}
	DeferCleanup(func() {
		o.Kill()
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Printf("the end of an operator's log (%v):\n%s\n", flags, o.Tail(60))
		}
	})
	return o
}

// Start starts the operator and waits until it is ready.
func (c *Cluster) Start(ctx context.Context, flags ...string) *Operator {
	o := c.Launch(ctx, flags...)
	o.WaitReady(ctx)
	return o
}

// StartElected starts an operator that takes part in leader election.
func (c *Cluster) StartElected(ctx context.Context, flags ...string) *Operator {
	return c.Start(ctx, append(flags, "--leader-elect", "--leader-election-namespace="+c.System)...)
}

// WaitReady waits until the operator is ready.
func (o *Operator) WaitReady(ctx context.Context) { o.waitFor(ctx, "readyz") }

// WaitHealthy waits until the operator is healthy.
func (o *Operator) WaitHealthy(ctx context.Context) { o.waitFor(ctx, "healthz") }

func (o *Operator) waitFor(ctx context.Context, probe string) {
	EventuallyWithOffset(2, func(g Gomega) {
		if !o.Alive() {
			StopTrying("the operator ended: " + o.Tail(20)).Now()
		}
		g.Expect(o.Probe(probe)).To(Equal(http.StatusOK))
	}).WithContext(ctx).WithPolling(20*time.Millisecond).Should(Succeed(), "%s should succeed", probe)
}

// Errors returns the lines of the log at level error and those that are not JSON.
func (o *Operator) Errors() []operator.LogLine {
	lines, err := o.Operator.Errors()
	must(err, "the operator's log")
	return lines
}

// Stop ends the operator as a kubelet does, and expects it to exit 0 soon.
func (o *Operator) Stop() {
	must(o.Operator.Stop(10*time.Second), "the operator should exit 0 soon after SIGTERM")
}
