// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// protection is what the child of a selected namespace says in its condition Protected. The zero
// value is of a namespace that does not count; the reason Reconciling, of one that is not known.
type protection struct{ Reason, Message string }

// protectionOf returns the protection of a selected namespace; child is nil if there is none.
func protectionOf(child *schedule, known bool) protection {
	if child != nil && known {
		if c := meta.FindStatusCondition(child.Status.Conditions, v1alpha1.ConditionProtected); c != nil {
			return protection{Reason: c.Reason, Message: report.Text(c.Message, maxProtection)}
		}
	}
	return protection{Reason: v1alpha1.ReasonReconciling}
}

// maxProtection is how many bytes of a child's message are repeated.
const maxProtection = 500

// protections count the selected namespaces by their protection.
type protections struct {
	current, pending, old, unsnapshottable, invalid, apiMissing int
	// first is the first of those in which no snapshot can be taken, by name.
	first *keyStatus
	// worst has the oldest recovery point of those that are old.
	worst *keyStatus
}

// add counts a namespace. One of which nothing is known is not protected if something is wrong with
// its child; else the child is new.
func (c *protections) add(k *keyStatus) {
	switch k.Protection.Reason {
	case v1alpha1.ReasonRecoveryPointsCurrent:
		c.current++
	case v1alpha1.ReasonFirstSnapshotsPending:
		c.pending++
	case v1alpha1.ReasonInvalidSpec:
		c.invalid++
	case v1alpha1.ReasonSnapshotAPIMissing:
		c.apiMissing++
	case v1alpha1.ReasonNotSnapshottable:
		c.unsnapshottable++
		if c.first == nil || k.Namespace < c.first.Namespace {
			c.first = k
		}
	case v1alpha1.ReasonRecoveryPointsOld:
		c.addOld(k)
	case v1alpha1.ReasonReconciling:
		if len(k.Problems) > 0 {
			c.addOld(k)
		} else {
			c.pending++
		}
	}
}

func (c *protections) addOld(k *keyStatus) {
	c.old++
	if w := c.worst; w == nil || k.RecoveryPoint.Before(w.RecoveryPoint) ||
		k.RecoveryPoint.Equal(w.RecoveryPoint) && k.Namespace < w.Namespace {
		c.worst = k
	}
}

// setProtected sets the condition Protected: it is True only if no child is known to be unprotected,
// and none is unknown for another reason than that its first snapshots are pending.
func setProtected(now time.Time, f *v1alpha1.ClusterSnapshotSchedule, c protections) {
	status, reason, message := metav1.ConditionUnknown, v1alpha1.ReasonNoMatchingClaims,
		"no selected namespace has a PersistentVolumeClaim that can be snapshotted now"
	switch {
	case c.old > 0:
		why := c.worst.Protection.Message
		if c.worst.Protection.Reason == v1alpha1.ReasonReconciling {
			why = "not known; " + report.Text(c.worst.Problems[0].Reason+": "+c.worst.Problems[0].Message, maxProtection)
		}
		status, reason = metav1.ConditionFalse, v1alpha1.ReasonRecoveryPointsOld
		message = fmt.Sprintf("%s not protected; the worst is %s: %s", namespaces(c.old), c.worst.Namespace, why)
	case c.unsnapshottable > 0:
		status, reason = metav1.ConditionFalse, v1alpha1.ReasonNotSnapshottable
		message = fmt.Sprintf("%s not protected; the first is %s: %s",
			namespaces(c.unsnapshottable), c.first.Namespace, c.first.Protection.Message)
	case c.apiMissing > 0:
		reason, message = v1alpha1.ReasonSnapshotAPIMissing, apiMissingMessage
	case c.invalid > 0:
		reason, message = v1alpha1.ReasonInvalidSpec, namespaces(c.invalid)+" with an invalid SnapshotSchedule"
	case c.current > 0:
		status, reason, message = metav1.ConditionTrue, v1alpha1.ReasonRecoveryPointsCurrent, namespaces(c.current)+" protected"
		if c.pending > 0 {
			message += fmt.Sprintf("; the first snapshots of %d more are pending", c.pending)
		}
	case c.pending > 0:
		reason, message = v1alpha1.ReasonFirstSnapshotsPending, "the first snapshots of "+namespaces(c.pending)+" are pending"
	}
	set(now, f, v1alpha1.ConditionProtected, status, reason, message)
}
