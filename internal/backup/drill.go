// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// MaxDrillReason is how many bytes of the reason of a failed drill are kept and shown.
const MaxDrillReason = 200

// FailedDrill is what the annotation verify-failed of a snapshot says.
type FailedDrill struct {
	// At is zero if the annotation is missing or malformed.
	At     time.Time
	Reason string
}

// FailedDrillOf returns the last failed drill of a snapshot.
func FailedDrillOf(o client.Object) FailedDrill {
	at, reason, _ := strings.Cut(o.GetAnnotations()[v1alpha1.AnnotationVerifyFailed], " ")
	return FailedDrill{timeOfText(at), report.Text(reason, MaxDrillReason)}
}

// String returns the value of the annotation.
func (d FailedDrill) String() string { return d.At.Format(time.RFC3339Nano) + " " + d.Reason }

// Words returns the reason for people.
func (d FailedDrill) Words() string { return cmp.Or(d.Reason, "it gives no reason") }

// DrillWords says how the last drill of a snapshot ended; empty if there was none, as of a group snapshot, whose members have drills.
func DrillWords(o client.Object, now time.Time) string {
	if _, ok := o.(*snapshotv1.VolumeSnapshot); !ok {
		return ""
	}
	s := Of(o)
	switch at, verified := s.Drill(now); {
	case at.IsZero():
		return ""
	case verified:
		return "its last drill succeeded, at " + at.Format(time.RFC3339)
	default:
		return fmt.Sprintf("its last drill failed, at %s: %s", at.Format(time.RFC3339), FailedDrillOf(o).Words())
	}
}
