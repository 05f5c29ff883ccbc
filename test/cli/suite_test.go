// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli runs the kubectl plugin as a child process against a real API server. Objects of the past are written into etcd,
// because no client can choose a creationTimestamp.
//
//	suite_test.go        the API server and the program
//	environment_test.go  a namespace with its objects; running the program
//	…                    the specs, by command
package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/etcd"
)

var (
	ctx    = context.Background()
	server *envtest.Environment
	// api is the client of an administrator.
	api client.Client
	// store writes what no client can write.
	store etcd.Client
	// program is the path of the plugin, kubeconfig that of an administrator's.
	program, kubeconfig string
)

func TestCLI(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: these tests need kube-apiserver and etcd. Run them with: make test-integration")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(25 * time.Millisecond)
	RunSpecs(t, "kubectl plugin")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	dir, err := os.MkdirTemp("", "kubectl-snapsched-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	program = filepath.Join(dir, "kubectl-snapsched")
	build := exec.Command("go", "build", "-o", program, "../../cmd/kubectl-snapsched")
	output, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))

	server = &envtest.Environment{
		CRDDirectoryPaths: []string{
			filepath.Join("..", "..", "config", "crd", "bases"),
			filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "crds"),
		},
		ErrorIfCRDPathMissing: true,
	}
	config, err := server.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(server.Stop)
	config.QPS = -1
	api, err = client.New(config, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())
	store = etcd.Client{URL: server.ControlPlane.Etcd.URL.String()}
	kubeconfig = writeKubeconfig(dir, "admin", "system:masters")
})

// writeKubeconfig writes a kubeconfig for a new user and returns its path.
func writeKubeconfig(dir, user string, groups ...string) string {
	GinkgoHelper()
	added, err := server.AddUser(envtest.User{Name: user, Groups: groups}, nil)
	Expect(err).NotTo(HaveOccurred())
	text, err := added.KubeConfig()
	Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(dir, user+".kubeconfig")
	Expect(os.WriteFile(path, text, 0o600)).To(Succeed())
	return path
}
