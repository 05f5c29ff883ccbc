// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Exit codes.
const (
	// ExitFound means that a command found what a flag such as --fail-on-gaps asked
	// it to look for. The output says what.
	ExitFound = 1
	// ExitError means that the command failed, or was called incorrectly.
	ExitError = 2
)

// ErrFound ends a command with ExitFound. The command has printed what it found.
var ErrFound = errors.New("found")

func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrFound):
		return ExitFound
	}
	return ExitError
}

// messageOf returns an error as kubectl prints it; empty if there is nothing to say.
func messageOf(err error) string {
	var status apierrors.APIStatus
	var noKind *meta.NoKindMatchError
	var noResource *meta.NoResourceMatchError
	switch {
	case errors.Is(err, ErrFound):
		return ""
	case errors.As(err, &noKind):
		return missingKind(noKind.GroupKind.Group, noKind.GroupKind.Kind)
	case errors.As(err, &noResource):
		return missingKind(noResource.PartialResource.Group, noResource.PartialResource.Resource)
	case errors.As(err, &status) && status.Status().Reason != "":
		// A Forbidden's message names the user, the verb and the resource.
		return fmt.Sprintf("Error from server (%s): %s", status.Status().Reason, err)
	}
	return fmt.Sprintf("error: %s", err)
}

// missingKind says what to install for a kind that the cluster does not have.
func missingKind(group, kind string) string {
	text := fmt.Sprintf("error: the server doesn't have the kind %s", schema.GroupKind{Group: group, Kind: kind})
	switch group {
	case v1alpha1.GroupName:
		return text + ": install the SnapshotSchedule operator and its CustomResourceDefinitions first"
	case snapshotv1.GroupName:
		return text + ": install the CSI snapshot CustomResourceDefinitions and the snapshot controller first"
	}
	return text
}
