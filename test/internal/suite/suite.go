// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suite has what the Ginkgo suites on a real API server share.
package suite

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// Run runs the specs of a suite that needs the programs of envtest.
func Run(t *testing.T, name string) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: these tests need kube-apiserver and etcd. Run them with make test-integration, " +
			"or set it to what 'setup-envtest use -p path' prints")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(25 * time.Millisecond)
	RunSpecs(t, name)
}

// CRDs are the files of all CRDs that the operator needs.
func CRDs() []string {
	GinkgoHelper()
	root := Must(repo.Root())
	return append(Must(repo.SnapshotCRDFiles()), filepath.Join(root, "config", "crd", "bases"))
}

// Start starts an API server until the end of the suite, and returns a configuration without rate limits.
func Start(environment *envtest.Environment) *rest.Config {
	GinkgoHelper()
	environment.ErrorIfCRDPathMissing, environment.ControlPlaneStartTimeout = true, time.Minute
	config := Must(environment.Start())
	DeferCleanup(environment.Stop)
	config.QPS = -1
	return config
}

// Must returns a value unless there is an error, which fails the spec.
func Must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}
