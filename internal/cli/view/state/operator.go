// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// Operator is what a cluster says of its operator, as far as the user may read it.
type Operator struct {
	Namespace string `json:"namespace,omitempty"`
	// Image is that of its Deployment.
	Image string `json:"image,omitempty"`
	// Leader has held the lease since LeaderTime, and renewed it last at RenewedTime.
	Leader      string       `json:"leader,omitempty"`
	LeaderTime  *metav1.Time `json:"leaderTime,omitempty"`
	RenewedTime *metav1.Time `json:"renewedTime,omitempty"`
	// ClockSkewSeconds is by how much its clock was ahead of the API server's then, which knows whole seconds only.
	ClockSkewSeconds *int `json:"clockSkewSeconds,omitempty"`
	// Silent is for how long nobody has renewed the lease; zero while somebody holds it, or if there is none.
	Silent time.Duration `json:"-"`
}

// ReadOperator reads what there is about the operator. What may not be read is left out.
func ReadOperator(ctx context.Context, f *term.Factory, now time.Time) *Operator {
	o, namespaces := &Operator{}, view.OperatorNamespaces(ctx, f)
	if lease := ReadLease(ctx, f, namespaces); lease != nil {
		o.Namespace, o.Leader = lease.Namespace, ptr.Deref(lease.Spec.HolderIdentity, "")
		o.RenewedTime = term.TimeOf(renewedAt(lease))
		if at := lease.Spec.AcquireTime; at != nil {
			o.LeaderTime = term.TimeOf(at.Time)
		}
		if at := lease.Spec.RenewTime; at != nil && len(lease.ManagedFields) > 0 {
			o.ClockSkewSeconds = ptr.To(int(at.Truncate(time.Second).Sub(changed(lease)) / time.Second))
		}
		o.Silent = SilentFor(lease, now)
		namespaces = []string{lease.Namespace}
	}
	// If Deployments may not be listed, there is none.
	all, _ := view.OperatorDeployments(ctx, f, namespaces)
	for i := range all {
		if image := view.ManagerImage(&all[i]); image != "" {
			o.Namespace, o.Image = all[i].Namespace, image
		}
	}
	return o
}
