// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
	"mapcontroller.dev/snapshotschedule/internal/version"
)

// managerContainer is the operator's container, in its Deployment.
const managerContainer = "manager"

// drillImage returns the image of drills for which the user names none: the operator's where its Deployment can be read, else
// the one that was released with this program.
func drillImage(ctx context.Context, f *term.Factory) (string, error) {
	found := sets.New[string]()
	for _, namespace := range view.OperatorNamespaces(ctx, f) {
		all := &appsv1.DeploymentList{}
		err := f.List(ctx, all, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": snapshots.Name})
		if err != nil && !apierrors.IsForbidden(err) {
			return "", err
		}
		for i := range all.Items {
			for _, c := range all.Items[i].Spec.Template.Spec.Containers {
				if c.Name == managerContainer {
					found.Insert(c.Image)
				}
			}
		}
	}
	switch image := version.Image(); {
	case len(found) == 1:
		return sets.List(found)[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("the operator runs with several images: choose one with --image: %s", strings.Join(sets.List(found), ", "))
	case image != "":
		return image, nil
	}
	return "", errors.New("name the operator's image with --image: its Deployment cannot be read, and this is a development build")
}
