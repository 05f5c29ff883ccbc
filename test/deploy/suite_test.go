// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deploy runs the image, built without a container engine, in the pods of the Deployment of
// config/default, on a cluster with a real node.
package deploy

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var cluster *Cluster

func TestDeployment(t *testing.T) {
	RegisterFailHandler(Fail)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "SnapshotSchedule, deployed")
}

var _ = BeforeSuite(func(ctx context.Context) {
	found, err := connect()
	if err != nil {
		AbortSuite(err.Error())
	}
	cluster = found
	buildImages(ctx)
}, NodeTimeout(20*time.Minute))

// A failed spec only says what it waited for: the state of the cluster tells more.
var _ = AfterEach(func(ctx context.Context) {
	if cluster == nil || !CurrentSpecReport().Failed() {
		return
	}
	for _, args := range [][]string{
		{"get", "pods", "-A", "-o=wide"}, {"get", "events", "-A"}, {"-n", system, "describe", "pods"},
		{"-n", system, "logs", "-l=control-plane=controller-manager", "--prefix", "--tail=60"},
	} {
		GinkgoWriter.Println(kubectl(ctx, args...))
	}
})
