// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	. "github.com/onsi/gomega"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// EnvClusterDir names the variable with the folder of the local cluster.
const EnvClusterDir = "SNAPSCHED_CLUSTER_DIR"

// Root is the root of the repository.
var Root = findRoot()

// Scheme knows every kind that the suites use.
var Scheme = newScheme()

// Cluster is an API server that the specs run against, seen by an administrator.
type Cluster struct {
	Config *rest.Config
	Client client.WithWatch
	Kube   kubernetes.Interface
	Audit  Audit
	// Dir is the folder of the local cluster; empty for a bare API server.
	Dir string
	// System is the namespace of the operator's ServiceAccount.
	System string
}

// Of is the same cluster, with an operator whose ServiceAccount is in another
// namespace.
func (c *Cluster) Of(system string) *Cluster {
	other := *c
	other.System, other.Audit.User = system, userOf(system)
	return &other
}

func userOf(system string) string { return "system:serviceaccount:" + system + ":" + Account }

// Connect finds the cluster that "make test-e2e" has brought up.
func Connect() (*Cluster, error) {
	kubeconfig, dir := os.Getenv("KUBECONFIG"), os.Getenv(EnvClusterDir)
	if kubeconfig == "" || dir == "" {
		return nil, fmt.Errorf("KUBECONFIG and %s are not both set: these tests need a local cluster of their own. "+
			"Run them with: make test-e2e", EnvClusterDir)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read $KUBECONFIG: %w; run these tests with: make test-e2e", err)
	}
	c, err := New(config, filepath.Join(dir, "audit.log"))
	if err != nil {
		return nil, err
	}
	c.Dir = dir
	if _, err := c.Kube.Discovery().ServerVersion(); err != nil {
		return nil, fmt.Errorf("no API server answers at %s: %w; run these tests with: make test-e2e", config.Host, err)
	}
	return c, nil
}

// New is a cluster reached by a rest.Config, with its audit log.
func New(config *rest.Config, audit string) (*Cluster, error) {
	config.QPS = -1
	direct, err := client.NewWithWatch(config, client.Options{Scheme: Scheme})
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(audit); err != nil {
		return nil, fmt.Errorf("the audit log is where requests are counted: %w", err)
	}
	return (&Cluster{Config: config, Client: direct, Kube: kube, Audit: Audit{Path: audit}}).Of(SystemNamespace), nil
}

func newScheme() *k8sruntime.Scheme {
	scheme := k8sruntime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(snapshotv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

func findRoot() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		panic(errors.New("no path of this file: was it built with -trimpath?"))
	}
	return filepath.Join(filepath.Dir(file), "..", "..", "..", "..")
}

// must fails the running spec.
func must(err error, format string, args ...any) {
	ExpectWithOffset(2, err).NotTo(HaveOccurred(), append([]any{format}, args...)...)
}
