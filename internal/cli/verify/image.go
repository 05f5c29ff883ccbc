// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/version"
)

// Image returns the image of drills for which the user names none: the operator's where its Deployment can be read, else
// the one that was released with this program.
func Image(ctx context.Context, f *term.Factory) (string, error) {
	found := sets.New[string]()
	all, err := view.OperatorDeployments(ctx, f, view.OperatorNamespaces(ctx, f))
	if err != nil && !apierrors.IsForbidden(err) {
		return "", err
	}
	for i := range all {
		if image := view.ManagerImage(&all[i]); image != "" {
			found.Insert(image)
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
