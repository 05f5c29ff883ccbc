// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli runs the kubectl plugin as a child process against a real API server. Objects of the past are written into etcd,
// because no client can choose a creationTimestamp.
//
//	suite_test.go        the API server and the program
//	environment_test.go  a namespace with its objects; running the program
//	rights_test.go       each command with the permissions that it says it needs, and no others
//	…                    the specs, by command
package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/etcd"
	"mapcontroller.dev/snapshotschedule/test/internal/suite"
)

var (
	ctx    = context.Background()
	server *envtest.Environment
	// api is the client of an administrator.
	api client.Client
	// store writes what no client can write.
	store etcd.Client
	// requests is the API server's audit log, of a user who is set.
	requests audit.Log
	// program is the path of the plugin, kubeconfig that of an administrator's.
	program, kubeconfig string
)

func TestCLI(t *testing.T) {
	suite.Run(t, "kubectl plugin")
}

// The processes of a run share the plugin, and have an API server each.
var _ = SynchronizedBeforeSuite(func() []byte {
	built := filepath.Join(temporaryFolder(), "kubectl-snapsched")
	build := exec.Command("go", "build", "-o", built, "../../cmd/kubectl-snapsched")
	output, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	return []byte(built)
}, func(built []byte) {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	program = string(built)
	server = &envtest.Environment{CRDDirectoryPaths: suite.CRDs()}
	requests.Path = suite.Must(audit.Enable(server.ControlPlane.GetAPIServer(), temporaryFolder()))
	api = suite.Must(client.New(suite.Start(server), client.Options{Scheme: cluster.Scheme}))
	store = etcd.Client{URL: server.ControlPlane.Etcd.URL.String()}
	kubeconfig = writeKubeconfig(temporaryFolder(), "admin", "system:masters")
})

// temporaryFolder returns a folder that exists until the end of the suite.
func temporaryFolder() string {
	GinkgoHelper()
	dir := suite.Must(os.MkdirTemp("", "kubectl-snapsched-"))
	DeferCleanup(os.RemoveAll, dir)
	return dir
}

// writeKubeconfig writes a kubeconfig for a new user and returns its path.
func writeKubeconfig(dir, user string, groups ...string) string {
	GinkgoHelper()
	text := suite.Must(suite.Must(server.AddUser(envtest.User{Name: user, Groups: groups}, nil)).KubeConfig())
	path := filepath.Join(dir, user+".kubeconfig")
	Expect(os.WriteFile(path, text, 0o600)).To(Succeed())
	return path
}
