// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bare runs the operator's program, with the permissions that are
// shipped, against a bare API server: nothing binds PVCs, nothing makes
// snapshots ready, and VolumeSnapshots are not even installed at first. What
// is counted there is the operator's own doing.
package bare

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

var (
	cluster *harness.Cluster
	judged  harness.Mark
)

const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
"omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}`

func TestBareAPIServer(t *testing.T) {
	RegisterFailHandler(Fail)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "SnapshotSchedule on a bare API server")
}

var _ = BeforeSuite(func(ctx context.Context) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		AbortSuite("KUBEBUILDER_ASSETS is not set: these tests start an API server of their own. Run them with: make test-e2e")
	}
	dir := GinkgoT().TempDir()
	policy, audit := filepath.Join(dir, "policy.json"), filepath.Join(dir, "audit.log")
	Expect(os.WriteFile(policy, []byte(auditPolicy), 0o600)).To(Succeed())

	environment := &envtest.Environment{}
	environment.ControlPlane.GetAPIServer().Configure().
		Append("audit-policy-file", policy).
		Append("audit-log-path", audit).
		Append("audit-log-maxsize", "100000").
		Set("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	config, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(environment.Stop)
	cluster, err = harness.New(config, audit)
	Expect(err).NotTo(HaveOccurred())

	harness.BuildOperator()
	DeferCleanup(harness.RemoveProgram)
	judged = cluster.Audit.Mark()
	cluster.Install(ctx)
})

var _ = AfterEach(func() {
	mark := judged
	judged = cluster.Audit.Mark()
	cluster.Audit.ExpectNoneForbidden(mark)
})
