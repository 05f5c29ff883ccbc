// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

// root is the repository's root, relative to this folder.
const root = "../.."

// Cluster is a local cluster with a node, as an administrator reaches it.
type Cluster struct {
	Client client.WithWatch
	State  local.State
}

// connect finds the cluster that "make test-deploy" has started.
func connect() (*Cluster, error) {
	const how = "run these tests with: make test-deploy"
	config, state, err := local.Find()
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, how)
	}
	if !state.Node {
		return nil, errors.New("the local cluster has no node; " + how)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: local.Scheme})
	return &Cluster{Client: c, State: state}, err
}

// run runs a program in the root of the repository and returns its stdout.
func run(ctx context.Context, stdin []byte, name string, args ...string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = root
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	Expect(err).NotTo(HaveOccurred(), "%s %s\n%s%s", name, strings.Join(args, " "), &stdout, &stderr)
	return stdout.String()
}

func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	return run(ctx, nil, "kubectl", args...)
}

// auditLog is the log of the operator's requests.
func (c *Cluster) auditLog() audit.Log {
	return audit.Log{Path: c.State.AuditLog(), User: local.OperatorUser(system)}
}

// mark returns the end of the log of the operator's requests.
func (c *Cluster) mark() audit.Mark {
	GinkgoHelper()
	return suite.Must(c.auditLog().Mark())
}

// requests returns the operator's requests since a mark.
func (c *Cluster) requests(since audit.Mark) audit.Requests {
	GinkgoHelper()
	requests := suite.Must(c.auditLog().Since(since))
	Expect(requests).NotTo(BeEmpty(), "the audit log should hold the operator's requests")
	return requests
}

// forbidden matches what the operator's roles or an admission plugin refuse.
func forbidden(r audit.Request) bool { return r.Code == http.StatusForbidden }

// uninstall deletes an installation with its CRDs, and the namespaces of its workloads, so that other installations
// start from nothing. The namespaces are deleted first, while the operator runs.
func uninstall(ctx context.Context, manifests []byte, namespaces ...string) {
	GinkgoHelper()
	kubectl(ctx, append([]string{"delete", "namespaces", "--ignore-not-found", "--timeout=2m"}, namespaces...)...)
	run(ctx, manifests, "kubectl", "delete", "--ignore-not-found", "--timeout=2m", "-f", "-")
}
