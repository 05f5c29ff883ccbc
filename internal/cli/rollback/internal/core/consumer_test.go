// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"testing"

	"k8s.io/utils/ptr"
)

// A cluster that gives each namespace users of its own, such as OpenShift, refuses a pod that names another one.
//
// Contract: BACK-1.
func TestTheConsumerPodNamesNoUser(t *testing.T) {
	c := newCluster(t, 1, true)
	p := (&Claim{Name: "data", restored: c.newPVC("data-rollback")}).newConsumer(&State{Namespace: ns, Image: "pause"})
	s := p.Spec.SecurityContext
	if s.RunAsUser != nil || s.RunAsGroup != nil || s.FSGroup != nil || !ptr.Deref(s.RunAsNonRoot, false) {
		t.Errorf("got %v", s)
	}
}
