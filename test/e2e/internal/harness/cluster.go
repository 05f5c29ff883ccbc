// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// The operator's namespace and ServiceAccount, as shipped.
const (
	SystemNamespace = cluster.SystemNamespace
	ServiceAccount  = cluster.ServiceAccount
)

// Scheme knows every kind that the suites use.
var Scheme = cluster.Scheme

// Root is the root of the repository.
var Root = findRoot()

func findRoot() string {
	root, err := repo.Root()
	if err != nil {
		panic(err)
	}
	return root
}

// Cluster is an API server, as an administrator reaches it.
type Cluster struct {
	Config *rest.Config
	Client client.WithWatch
	Kube   kubernetes.Interface
	Audit  Audit
	// System is the namespace of the operator's ServiceAccount.
	System string

	// state is empty for a bare API server.
	state cluster.State
}

// WithOperatorIn is the same cluster with an operator whose ServiceAccount is in another namespace.
func (c *Cluster) WithOperatorIn(namespace string) *Cluster {
	other := *c
	other.System, other.Audit.log.User = namespace, cluster.OperatorUser(namespace)
	return &other
}

// Connect finds the cluster that "make test-e2e" has started.
func Connect() (*Cluster, error) {
	const how = "run these tests with: make test-e2e"
	config, state, err := cluster.Find()
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, how)
	}
	c, err := New(config, state.AuditLog())
	if err != nil {
		return nil, err
	}
	c.state = state
	if _, err := c.Kube.Discovery().ServerVersion(); err != nil {
		return nil, fmt.Errorf("no API server answers at %s: %w; %s", config.Host, err, how)
	}
	return c, nil
}

// New is a cluster with its configuration and its audit log.
func New(config *rest.Config, auditLog string) (*Cluster, error) {
	config.QPS = -1
	direct, err := client.NewWithWatch(config, client.Options{Scheme: Scheme})
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(auditLog); err != nil {
		return nil, fmt.Errorf("the audit log is needed to count requests: %w", err)
	}
	c := &Cluster{Config: config, Client: direct, Kube: kube, Audit: Audit{log: audit.Log{Path: auditLog}}}
	return c.WithOperatorIn(SystemNamespace), nil
}

// Token returns a token for a ServiceAccount.
func (c *Cluster) Token(ctx context.Context, namespace, account string) string {
	token, err := cluster.Token(ctx, c.Kube, namespace, account, time.Hour)
	must(err, "token")
	return token
}

// writeKubeconfig writes a kubeconfig for the operator's ServiceAccount. The ID of its token identifies
// one start of the operator in the audit log.
func (c *Cluster) writeKubeconfig(ctx context.Context, dir string) (path, credential string) {
	token := c.Token(ctx, c.System, ServiceAccount)
	path = filepath.Join(dir, "kubeconfig")
	config := rest.AnonymousClientConfig(c.Config)
	config.BearerToken = token
	must(cluster.WriteKubeconfig(path, config), "the operator's kubeconfig")
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	must(err, "a token")
	var claims struct{ JTI string }
	must(json.Unmarshal(payload, &claims), "a token")
	return path, claims.JTI
}

// must fails the running spec.
func must(err error, format string, args ...any) {
	ExpectWithOffset(2, err).NotTo(HaveOccurred(), append([]any{format}, args...)...)
}
