// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bare runs the operator's program, with the shipped permissions, against a bare API server:
// nothing binds PVCs or makes snapshots ready, and the CRDs of VolumeSnapshots are missing at first. So
// every change and request is the operator's own.
package bare

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

var (
	cluster *harness.Cluster
	checked audit.Mark
)

func TestBareAPIServer(t *testing.T) {
	RegisterFailHandler(Fail)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "SnapshotSchedule on a bare API server")
}

var _ = BeforeSuite(func(ctx context.Context) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		AbortSuite("KUBEBUILDER_ASSETS is not set: these tests start their own API server. Run them with: make test-e2e")
	}
	environment := &envtest.Environment{}
	server := environment.ControlPlane.GetAPIServer()
	server.Configure().Set("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	log, err := audit.Enable(server, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	config, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(environment.Stop)
	cluster, err = harness.New(config, log)
	Expect(err).NotTo(HaveOccurred())

	harness.BuildOperator()
	DeferCleanup(harness.RemoveProgram)
	checked = cluster.Audit.Mark()
	cluster.Install(ctx)
})

var _ = AfterEach(func() {
	mark := checked
	checked = cluster.Audit.Mark()
	cluster.Audit.ExpectNoneForbidden(mark)
})
