// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e runs the operator's program, with the shipped permissions, against a real API server,
// garbage collector and CSI snapshot stack.
package e2e

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"mapcontroller.dev/snapshotschedule/test/e2e/internal/harness"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

var (
	cluster *harness.Cluster
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
	found, err := harness.Connect()
	if err != nil {
		AbortSuite(err.Error())
	}
	cluster = found
	harness.BuildOperator()
	DeferCleanup(harness.RemoveProgram)
	checked = cluster.Audit.Mark()
	suiteStart = checked
	cluster.Install(ctx)
})

var _ = AfterEach(func() {
	mark := checked
	checked = cluster.Audit.Mark()
	cluster.Audit.ExpectNoneForbidden(mark)
})
