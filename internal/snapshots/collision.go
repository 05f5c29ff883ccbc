// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// collisionMessage says why the name of a snapshot is taken, and how to free it. One of
// the schedule's own has it only if somebody changed or made it: what the name is computed
// from is in its labels, its annotation and its source.
func collisionMessage(want client.Object, err error) string {
	noun, name, collision := backup.Noun(want), want.GetName(), (*mapcontroller.CollisionError)(nil)
	if !errors.As(err, &collision) || !collision.Owned {
		return fmt.Sprintf("%s %s exists and is not this schedule's; delete it, or keep it under another name", noun, name)
	}
	have, key := collision.Existing, want.GetLabels()[v1alpha1.LabelMapKey]
	switch {
	case backup.Terminating(have):
		return fmt.Sprintf("%s %s is this schedule's, was changed, and is being deleted; the slot is taken once it is gone", noun, name)
	case have.GetLabels()[v1alpha1.LabelMapKey] != key:
		return fmt.Sprintf("%s %s is this schedule's, but its label %s was changed; set it to %s again, or delete the %s",
			noun, name, v1alpha1.LabelMapKey, key, noun)
	case backup.ClaimName(have) != backup.ClaimName(want):
		return fmt.Sprintf("%s %s is this schedule's, but it is not one of PersistentVolumeClaim %s; delete it",
			noun, name, backup.ClaimName(want))
	}
	const slot = v1alpha1.AnnotationScheduledAt
	return fmt.Sprintf("%s %s is this schedule's, but its annotation %s was changed, so the slot is due again; "+
		"set it to %s again, or delete the %s", noun, name, slot, want.GetAnnotations()[slot], noun)
}
