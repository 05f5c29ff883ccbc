// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"

	"mapcontroller.dev/snapshotschedule/test/internal/builders"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

// EnvClusterDir is the environment variable with the folder of the local cluster.
const EnvClusterDir = cluster.EnvDir

// Repository returns the root of the repository that the working directory is in.
func Repository(context.Context) (string, error) { return repo.Root() }

// BuildOperator builds the operator's program into a folder.
var BuildOperator = repo.BuildOperator

// SnapshotName is the name that the operator gives to a snapshot.
var SnapshotName = builders.SnapshotName
