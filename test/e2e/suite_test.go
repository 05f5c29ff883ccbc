// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e runs the operator's program, with the shipped permissions, against a real API server,
// garbage collector and CSI snapshot stack. Its specs prove what needs one of these; the rest is in
// test/integration, which is faster and can fail requests.
package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// root is the root of the repository.
const root = "../.."

var (
	cluster *Cluster
	// program is the operator's program.
	program string
	// checked is the end of the part of the audit log that was searched for forbidden requests.
	checked audit.Mark
	// suiteStart is the end of the audit log at the start of the suite.
	suiteStart audit.Mark
)

func TestEndToEnd(t *testing.T) {
	RegisterFailHandler(Fail)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "SnapshotSchedule on a cluster")
}

var _ = BeforeSuite(func(ctx context.Context) {
	found, err := connect()
	if err != nil {
		AbortSuite(err.Error() + "; run these tests with: make test-e2e")
	}
	cluster = found
	dir, err := os.MkdirTemp("", "snapsched-e2e-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	program, err = repo.BuildOperator(ctx, root, dir)
	Expect(err).NotTo(HaveOccurred())
	suiteStart = cluster.Mark()
	checked = suiteStart
	cluster.Install(ctx)
})

var _ = AfterEach(func() {
	mark := checked
	checked = cluster.Mark()
	Expect(cluster.Since(mark).Forbidden()).To(BeEmpty(), "the shipped roles should allow every request of the operator")
})
