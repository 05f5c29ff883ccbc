// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"cmp"
	"regexp"
	"strconv"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/report"
)

// MaxDriverWords is how many bytes of an error of a driver are kept and shown.
const MaxDriverWords = 256

// DriverError returns the error that the driver or the snapshot controller reports of a snapshot
// that is not ready, in at most 256 bytes that are safe to show; empty if there is none.
func DriverError(o client.Object) string {
	message, erring := errorOf(o)
	if !erring || ReadyToUse(o) {
		return ""
	}
	text := ptr.Deref(message, "")
	if found := sidecarWords.FindStringSubmatch(text); found != nil {
		if driver, err := strconv.Unquote(found[1]); err == nil {
			text = driver
		}
	}
	return cmp.Or(report.Text(text, MaxDriverWords), "an error without a message")
}

// errorOf returns the error in the status of a snapshot, or of a group snapshot.
func errorOf(o client.Object) (message *string, erring bool) {
	switch v := o.(type) {
	case *snapshotv1.VolumeSnapshot:
		if v.Status != nil && v.Status.Error != nil {
			return v.Status.Error.Message, true
		}
	case *groupv1.VolumeGroupSnapshot:
		if v.Status != nil && v.Status.Error != nil {
			return v.Status.Error.Message, true
		}
	}
	return nil, false
}

// sidecarWords finds the driver's words among those of csi-snapshotter, which name the volume first:
// in Azure, its ID alone is 170 bytes long, and nothing of what the driver says would be left.
var sidecarWords = regexp.MustCompile(`(?s)^Failed to [a-z ]+: failed to take snapshot of the volume .+?: (".+")$`)

// Answered returns whether the csi-snapshotter has reacted to a content: it has a handle of the storage, or an error.
func Answered(c *snapshotv1.VolumeSnapshotContent) bool {
	return c.Status != nil && (c.Status.SnapshotHandle != nil || c.Status.Error != nil)
}
