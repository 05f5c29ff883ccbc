// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	local "mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// Behave makes the driver treat an account differently until the end of the spec. An account is all PVCs of the namespaces whose
// names begin with its name, such as those of one namespace.
func (c *Cluster) Behave(account string, b local.Behavior) {
	GinkgoHelper()
	Expect(c.state.SetBehavior(account, b)).To(Succeed())
	DeferCleanup(func() { Expect(c.state.SetBehavior(account, local.Behavior{})).To(Succeed()) })
}

// Storage returns what the driver holds, and has held at most.
func (c *Cluster) Storage() local.Storage {
	GinkgoHelper()
	found, err := c.state.Storage()
	Expect(err).NotTo(HaveOccurred())
	return found
}

// beProtected matches a schedule with a status of its Protected condition.
func beProtected(status metav1.ConditionStatus) gomegatypes.GomegaMatcher {
	return HaveField("Status.Conditions", ContainElement(And(
		HaveField("Type", v1alpha1.ConditionProtected), HaveField("Status", status))))
}
