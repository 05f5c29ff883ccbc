// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// readOrigin reads the ClusterSnapshotSchedule of a schedule's name, and the namespace. A
// user of a namespace may not be allowed to: then nobody is assumed to have confirmed a
// child, which only delays deletes.
func readOrigin(ctx context.Context, c client.Reader, s *v1alpha1.SnapshotSchedule) ([]client.Object, error) {
	var known []client.Object
	parent, namespace := snapshots.OriginNames(s)
	for _, o := range []client.Object{parent, namespace} {
		switch err := c.Get(ctx, client.ObjectKeyFromObject(o), o); {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			return known, nil
		case err != nil:
			return nil, err
		}
		known = append(known, o)
	}
	return known, nil
}
