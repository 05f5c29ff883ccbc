/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package deploy runs what is shipped the way it is shipped: the image, built
// without a container engine, in pods of a Deployment made from config/default,
// on a cluster with a real node.
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

// What happened on the cluster says more than what the spec waited for.
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
