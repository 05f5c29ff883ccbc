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
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// root is the repository's root, relative to this folder.
const root = "../.."

// Cluster is a local cluster with a node, as an administrator reaches it.
type Cluster struct {
	Client client.Client
	Kube   kubernetes.Interface
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
	c := &Cluster{State: state}
	if c.Client, err = client.New(config, client.Options{Scheme: local.Scheme}); err != nil {
		return nil, err
	}
	c.Kube, err = kubernetes.NewForConfig(config)
	return c, err
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

// forbidden returns the operator's requests that were denied.
func (c *Cluster) forbidden() audit.Requests {
	GinkgoHelper()
	requests, err := audit.Log{Path: c.State.AuditLog(), User: local.OperatorUser(system)}.Since(0)
	Expect(err).NotTo(HaveOccurred())
	Expect(requests).NotTo(BeEmpty(), "the audit log should hold the operator's requests")
	return requests.Where(func(r audit.Request) bool { return r.Code == http.StatusForbidden })
}
