// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/json"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// patch judges a patch of a snapshot: an adoption, or the removal of a reference to a schedule.
func (j *AtWrite) patch(st *state, a Attempt, before *snapshotv1.VolumeSnapshot) {
	var change struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
		Spec     json.RawMessage            `json:"spec"`
		Status   json.RawMessage            `json:"status"`
	}
	var version string
	var owners []metav1.OwnerReference
	if err := json.Unmarshal(a.Body, &change); err != nil || change.Spec != nil || change.Status != nil {
		j.fail("S1", "the patch of VolumeSnapshot %s is not of its metadata: %s", a.Name, a.Body)
		return
	}
	_ = json.Unmarshal(change.Metadata["resourceVersion"], &version)
	if version != before.ResourceVersion {
		return // it is refused
	}
	for field, value := range change.Metadata {
		switch field {
		case "resourceVersion", "uid":
		case "ownerReferences":
			_ = json.Unmarshal(value, &owners) // null: none
		default:
			j.fail("S1", "the patch of VolumeSnapshot %s changes its %s", a.Name, field)
		}
	}
	after := before.DeepCopy()
	after.OwnerReferences = owners
	switch {
	case equality.Semantic.DeepEqual(before.OwnerReferences, owners):
		return // nothing changes, as when an adoption is undone that was refused
	case withUID(st.schedules, controllerOf(before)) != nil || controllerOf(before) != "" && controllerOf(after) == "":
		return // its schedule's own, or released
	}
	if why := st.notAdoptable(before, after); why != "" {
		j.fail("S1", "VolumeSnapshot %s: %s", a.Name, why)
	}
}

// notAdoptable returns why a patch of a snapshot that no schedule controls is not the adoption of an orphan.
func (st *state) notAdoptable(before, after *snapshotv1.VolumeSnapshot) string {
	s := withUID(st.schedules, controllerOf(after))
	switch {
	case metav1.GetControllerOfNoCopy(before) != nil, controllerOf(after) == "":
		return "it was patched, and " + controlOf(before)
	case before.DeletionTimestamp != nil:
		return "it was adopted while it was being deleted"
	case before.Labels[v1alpha1.LabelMapKey] == "":
		return "it was adopted without a map key"
	case slices.ContainsFunc(before.OwnerReferences, isGroup):
		return "it was adopted, and is a member of a VolumeGroupSnapshot"
	case s == nil || s.DeletionTimestamp != nil || OwnsByLabels(s) || s.Name != before.Labels[v1alpha1.LabelSchedule]:
		return "it was adopted by a schedule that is gone or being deleted, that owns by labels, or that its label does not name"
	}
	return ""
}
