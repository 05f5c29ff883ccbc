// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of the condition Ready of a ClusterSnapshotSchedule, besides Scheduled, InvalidSpec,
// SnapshotAPIMissing and Reconciling.
const (
	// ReasonNoMatchingNamespaces means that spec.namespaceSelector matches no namespace. Ready is
	// True.
	ReasonNoMatchingNamespaces = "NoMatchingNamespaces"

	// ReasonSchedulesFailing means that the SnapshotSchedule of at least one namespace in
	// status.problems is not Ready, or could not be created, changed or deleted. Ready is False.
	ReasonSchedulesFailing = "SchedulesFailing"
)

// Reasons of problems and Warning events of a ClusterSnapshotSchedule, besides CreateFailed,
// DeleteFailed, NameCollision, AdoptionRefused, ReleaseFailed and the reasons of the condition
// Ready of its SnapshotSchedules.
const (
	// ReasonChildDeleting means that the SnapshotSchedule of a namespace is being deleted and waits
	// for its finalizers. Until it is gone, no snapshot is taken or deleted in the namespace. Then
	// the operator creates it again, if the namespace is still selected.
	ReasonChildDeleting = "ChildDeleting"

	// ReasonStatusOutdated means that the operator could not write the status of the
	// SnapshotSchedule of a namespace for several status intervals, for example because somebody
	// made the SnapshotSchedule too large. It does not count as ready, and the numbers of PVCs and
	// snapshots are unknown.
	ReasonStatusOutdated = "StatusOutdated"

	// ReasonUpdateFailed means that the API server rejected a change to a SnapshotSchedule, for
	// example because of an admission webhook. The operator retries with backoff. Other namespaces
	// are not affected.
	ReasonUpdateFailed = "UpdateFailed"
)
