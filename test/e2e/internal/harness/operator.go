// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Operator is one start of the operator's program.
type Operator struct {
	// Health is the address of its probes; empty until it is up.
	Health string
	// LogFile is what it writes.
	LogFile string

	credential string
	cmd        *exec.Cmd
	ended      chan struct{}
	endErr     error
}

// program builds the operator once for a suite.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "snapsched-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "manager")
	cmd := exec.Command("go", "build", "-o", path, "./cmd")
	cmd.Dir = Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("go build ./cmd: %w\n%s", err, out), os.RemoveAll(dir))
	}
	return path, nil
})

// BuildOperator builds the operator's program, if that was not done yet. What
// it builds is removed after the suite.
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

// Launch starts the operator as the shipped ServiceAccount, with some flags,
// and does not wait for it. It is killed with the node of the suite that
// started it, at the latest.
func (c *Cluster) Launch(ctx context.Context, flags ...string) *Operator {
	return c.launch(ctx, []string{BuildOperator()}, flags...)
}

func (c *Cluster) launch(ctx context.Context, command []string, flags ...string) *Operator {
	dir := GinkgoT().TempDir()
	kubeconfig, credential := c.writeKubeconfig(ctx, dir)
	o := &Operator{LogFile: filepath.Join(dir, "log"), credential: credential, ended: make(chan struct{})}
	log, err := os.Create(o.LogFile)
	must(err, "the operator's log")
	// The listener picks a free port, and the log tells which.
	args := append(slices.Concat(command[1:], []string{"--health-probe-bind-address=127.0.0.1:0"}), flags...)
	o.cmd = exec.Command(command[0], args...)
	o.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	o.cmd.Stdout, o.cmd.Stderr = log, log
	o.cmd.SysProcAttr = dieWithParent()
	must(o.cmd.Start(), "start the operator")
	go func() {
		o.endErr = o.cmd.Wait()
		_ = log.Close()
		close(o.ended)
	}()
	DeferCleanup(func() {
		_ = o.cmd.Process.Kill()
		<-o.ended
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Printf("the end of an operator's log (%v):\n%s\n", o.cmd.Args[1:], o.tail(60))
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

// WaitReady waits until the operator answers that it is ready.
func (o *Operator) WaitReady(ctx context.Context) { o.waitFor(ctx, "readyz") }

// WaitUp waits until the operator answers that it is alive.
func (o *Operator) WaitUp(ctx context.Context) { o.waitFor(ctx, "healthz") }

func (o *Operator) waitFor(ctx context.Context, probe string) {
	EventuallyWithOffset(2, func(g Gomega) {
		if !o.Alive() {
			StopTrying("the operator ended: " + o.tail(20)).Now()
		}
		o.Health = o.healthAddress()
		g.Expect(o.Health).NotTo(BeEmpty(), "the log does not tell the address of the probes")
		g.Expect(o.Probe(probe)).To(Equal(http.StatusOK))
	}).WithContext(ctx).WithPolling(20*time.Millisecond).Should(Succeed(), "%s should answer that all is well", probe)
}

// Probe asks healthz or readyz, and returns the status code.
func (o *Operator) Probe(path string) (int, error) {
	answer, err := http.Get("http://" + o.Health + "/" + path)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// Alive tells whether the process runs.
func (o *Operator) Alive() bool {
	select {
	case <-o.ended:
		return false
	default:
		return true
	}
}

// Kill ends the process as a crash would, and waits until it is gone.
func (o *Operator) Kill() {
	must(o.cmd.Process.Signal(syscall.SIGKILL), "kill the operator")
	<-o.ended
}

// Terminate sends SIGTERM and does not wait.
func (o *Operator) Terminate() {
	must(o.cmd.Process.Signal(syscall.SIGTERM), "terminate the operator")
}

// Stop ends the operator as a kubelet would, and expects it to end well and
// soon.
func (o *Operator) Stop() {
	o.Terminate()
	EventuallyWithOffset(1, o.ended).WithTimeout(10*time.Second).Should(BeClosed(), "the operator should end soon after SIGTERM")
	ExpectWithOffset(1, o.endErr).NotTo(HaveOccurred(), "the operator should exit 0 after SIGTERM:\n%s", o.tail(20))
}
