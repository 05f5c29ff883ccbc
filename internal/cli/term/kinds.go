// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Name is the command as a user types it.
const Name = "kubectl snapsched"

// FieldOwner is the plugin's name in managed fields.
const FieldOwner = client.FieldOwner("kubectl-snapsched")

// The groups of commands in the help.
const (
	GroupShow = "show"
	GroupAct  = "act"
)

// Names of resources, as kubectl prints them before a slash.
const (
	ScheduleResource        = "snapshotschedule.snapshots.mapcontroller.dev"
	ClusterScheduleResource = "clustersnapshotschedule.snapshots.mapcontroller.dev"
	SnapshotResource        = "volumesnapshot.snapshot.storage.k8s.io"
	GroupResource           = "volumegroupsnapshot.groupsnapshot.storage.k8s.io"
	ClaimResource           = "persistentvolumeclaim"
)

// The kinds that a manifest may have, and that are completed.
var (
	ScheduleKind        = v1alpha1.GroupVersion.WithKind("SnapshotSchedule")
	ClusterScheduleKind = v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule")
)
