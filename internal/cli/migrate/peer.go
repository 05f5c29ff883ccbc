// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// PeerKind is the kind of snapscheduler's schedules.
var PeerKind = schema.GroupVersionKind{Group: "snapscheduler.backube", Version: "v1", Kind: "SnapshotSchedule"}

const (
	// PeerResource is the full name of snapscheduler's schedules for kubectl. Ours have
	// the same plural.
	PeerResource = "snapshotschedules.snapscheduler.backube"
	// LabelPeerSchedule is the label by which snapscheduler finds the snapshots of a
	// schedule, and expires them. A migrated snapshot has it as an annotation.
	LabelPeerSchedule = "snapscheduler.backube/schedule"
	// labelPeerWhen is the slot of a snapshot of snapscheduler, in UTC.
	labelPeerWhen = "snapscheduler.backube/when"
	peerWhen      = "200601021504"

	// annotationWasEnabled is set on a schedule of snapscheduler that a migration has
	// disabled. Without it, a migration that was interrupted and runs again would take
	// the schedule for one that its user had disabled, and suspend ours.
	annotationWasEnabled = v1alpha1.Prefix + "disabled-by-migration"
)

// disabled returns whether the user of a schedule of snapscheduler has disabled it.
func disabled(peer *unstructured.Unstructured) bool {
	is, _, _ := unstructured.NestedBool(peer.Object, "spec", "disabled")
	return is && peer.GetAnnotations()[annotationWasEnabled] == ""
}

// Disable returns the merge patch that disables a schedule of snapscheduler; nil if
// it is disabled.
func Disable(peer *unstructured.Unstructured) []byte {
	if is, _, _ := unstructured.NestedBool(peer.Object, "spec", "disabled"); is {
		return nil
	}
	return patch(map[string]any{
		"metadata": map[string]any{
			"resourceVersion": peer.GetResourceVersion(),
			"annotations":     map[string]any{annotationWasEnabled: "true"},
		},
		"spec": map[string]any{"disabled": true},
	})
}

func patch(content map[string]any) []byte {
	text, err := json.Marshal(content)
	if err != nil {
		panic(err) // strings and bools only
	}
	return text
}
