// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

// plugin is the path of the kubectl plugin's program.
var plugin string

// buildPlugin compiles the plugin, until the end of the running container.
func buildPlugin(ctx context.Context) {
	GinkgoHelper()
	dir, err := os.MkdirTemp("", "kubectl-snapsched-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	plugin = filepath.Join(dir, "kubectl-snapsched")
	build := exec.CommandContext(ctx, "go", "build", "-o", plugin, "./cmd/kubectl-snapsched")
	build.Dir = harness.Root
	output, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
}

// runPlugin runs the plugin in a namespace and returns what it prints, and its exit code.
func runPlugin(ctx context.Context, namespace string, args ...string) (out, errOut string, code int) {
	GinkgoHelper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, plugin, append(args, "-n", namespace)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	GinkgoWriter.Printf("$ kubectl snapsched %s\n%s%s\n", strings.Join(args, " "), &stdout, &stderr)
	Expect(cmd.ProcessState).NotTo(BeNil(), "%v", err)
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// snapsched runs the plugin, which must succeed, and returns what it prints.
func snapsched(ctx context.Context, namespace string, args ...string) string {
	GinkgoHelper()
	out, errOut, code := runPlugin(ctx, namespace, args...)
	Expect(code).To(BeZero(), errOut)
	return out
}

// snapschedJSON runs the plugin with -o json, and decodes what it prints.
func snapschedJSON[T any](ctx context.Context, namespace string, args ...string) (found T) {
	GinkgoHelper()
	Expect(json.Unmarshal([]byte(snapsched(ctx, namespace, append(args, "-o", "json")...)), &found)).To(Succeed())
	return found
}

// nextSecond waits for the next second: a request of the second of an existing slot is covered by its snapshot.
func nextSecond(ctx context.Context) {
	GinkgoHelper()
	start := time.Now()
	Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">=", start.Truncate(time.Second).Add(time.Second)))
}
