// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// Cluster is the cluster that "make test-e2e" has started, as an administrator reaches it.
type Cluster struct {
	Config *rest.Config
	Client client.WithWatch
	Kube   kubernetes.Interface
	// System is the namespace of the operator's ServiceAccount.
	System string

	state local.State
}

func connect() (*Cluster, error) {
	config, state, err := local.Find()
	if err != nil {
		return nil, err
	}
	c := &Cluster{Config: config, System: local.SystemNamespace, state: state}
	if c.Client, err = client.NewWithWatch(config, client.Options{Scheme: local.Scheme}); err != nil {
		return nil, err
	}
	c.Kube, err = kubernetes.NewForConfig(config)
	return c, err
}

// WithOperatorIn is the same cluster with an operator whose ServiceAccount is in another namespace.
func (c *Cluster) WithOperatorIn(namespace string) *Cluster {
	other := *c
	other.System = namespace
	return &other
}

func (c *Cluster) auditLog() audit.Log {
	return audit.Log{Path: c.state.AuditLog(), User: local.OperatorUser(c.System)}
}

// Mark returns the end of the audit log.
func (c *Cluster) Mark() audit.Mark {
	GinkgoHelper()
	mark, err := c.auditLog().Mark()
	Expect(err).NotTo(HaveOccurred())
	return mark
}

// Since returns the operator's requests that were answered after a mark.
func (c *Cluster) Since(mark audit.Mark) audit.Requests {
	GinkgoHelper()
	requests, err := c.auditLog().Since(mark)
	Expect(err).NotTo(HaveOccurred())
	return requests
}

// kustomize builds a folder of the repository.
func kustomize(ctx context.Context, folder string) []byte {
	GinkgoHelper()
	text, err := repo.Kustomize(ctx, root, folder)
	Expect(err).NotTo(HaveOccurred())
	return text
}

// decode reads a stream of YAML documents.
func decode(text []byte) []*unstructured.Unstructured {
	GinkgoHelper()
	all, err := repo.Decode(text)
	Expect(err).NotTo(HaveOccurred(), "%s", text)
	return all
}

// Install applies config/crd and config/default, except the Deployment: the specs run the manager themselves.
func (c *Cluster) Install(ctx context.Context) {
	GinkgoHelper()
	shipped, err := repo.Shipped(ctx, root)
	Expect(err).NotTo(HaveOccurred())
	c.Apply(ctx, shipped...)
}

// Apply applies objects and waits until the kinds of CRDs among them are available.
func (c *Cluster) Apply(ctx context.Context, objects ...*unstructured.Unstructured) {
	GinkgoHelper()
	Expect(local.Install(ctx, c.Client, c.Kube.Discovery(), objects...)).To(Succeed())
}

// PausePart freezes a part of the local cluster, as if its machine were lost, and returns the function
// that resumes it. It is resumed at the end of the spec at the latest.
func (c *Cluster) PausePart(name string) (resume func()) {
	GinkgoHelper()
	part, err := c.state.Part(name)
	Expect(err).NotTo(HaveOccurred())
	Expect(syscall.Kill(part.Pid, syscall.SIGSTOP)).To(Succeed(), "pause %s", name)
	resume = sync.OnceFunc(func() { Expect(syscall.Kill(part.Pid, syscall.SIGCONT)).To(Succeed(), "resume %s", name) })
	DeferCleanup(resume)
	return resume
}

// tryKubectl runs kubectl as the administrator and returns its output.
func tryKubectl(args ...string) (string, error) {
	out, err := exec.Command("kubectl", append(args, "--timeout=60s")...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return string(out), err
}

// kubectl runs kubectl, which must succeed.
func kubectl(args ...string) {
	GinkgoHelper()
	_, err := tryKubectl(args...)
	Expect(err).NotTo(HaveOccurred())
}
