// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
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
}

// ReadOperator reads what there is about the operator. What may not be read is left out.
func ReadOperator(ctx context.Context, f *term.Factory) *Operator {
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
		namespaces = []string{lease.Namespace}
	}
	for _, namespace := range namespaces {
		all := &appsv1.DeploymentList{}
		// If they may not be listed, there is none.
		_ = f.List(ctx, all, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": snapshots.Name})
		for i := range all.Items {
			if containers := all.Items[i].Spec.Template.Spec.Containers; len(containers) > 0 {
				o.Namespace, o.Image = namespace, containers[0].Image
			}
		}
	}
	return o
}
