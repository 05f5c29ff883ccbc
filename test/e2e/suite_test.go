// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e runs the operator's program, with the permissions that are
// shipped, against a real API server, garbage collector and CSI snapshot stack.
package e2e

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
)

var (
	cluster *harness.Cluster
	// judged is up to where the audit log has been looked at for requests that
	// the shipped roles do not allow.
	judged harness.Mark
	// began is where the audit log stood at first.
	began harness.Mark
)

func TestEndToEnd(t *testing.T) {
	RegisterFailHandler(Fail)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "SnapshotSchedule on a cluster")
}

var _ = BeforeSuite(func(ctx context.Context) {
	found, err := harness.Connect()
	if err != nil {
		AbortSuite(err.Error())
	}
	cluster = found
	harness.BuildOperator()
	DeferCleanup(harness.RemoveProgram)
	judged = cluster.Audit.Mark()
	began = judged
	cluster.Install(ctx)
})

var _ = AfterEach(func() {
	mark := judged
	judged = cluster.Audit.Mark()
	cluster.Audit.ExpectNoneForbidden(mark)
})
