// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

const (
	// newFor is how long a schedule deletes nothing that is older than itself.
	newFor = time.Hour
	// childDelay is how long the child of a ClusterSnapshotSchedule keeps at least what an edit would delete.
	childDelay = time.Minute
)

func delayOf(text v1alpha1.Duration) time.Duration {
	if text == "" {
		return 0
	}
	d, err := durations.get(string(text))
	if err != nil {
		return longest
	}
	return d
}

// ownDelay is the delay of a schedule's spec. A child has at least a minute.
func ownDelay(s *v1alpha1.SnapshotSchedule) time.Duration {
	own := delayOf(s.Spec.Retention.EditDelay)
	if fleetOf(s) != "" {
		own = max(own, childDelay)
	}
	return own
}

// confirmsIt returns whether an object confirms its own generation.
func confirmsIt(o client.Object) bool {
	return o.GetAnnotations()[v1alpha1.AnnotationConfirmGeneration] == strconv.FormatInt(o.GetGeneration(), 10)
}
