// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// SkipReason is why a PVC cannot be snapshotted now, in words; empty if it can.
type SkipReason string

// NotSnapshottable returns whether no class fits the PVC: a new one may end that, time does not.
func (r SkipReason) NotSnapshottable() bool {
	return strings.HasPrefix(string(r), v1alpha1.ReasonNotSnapshottable+": ")
}

// Skip says of which PVCs no snapshot can be taken now, whatever their class.
type Skip struct {
	Reason SkipReason
	is     func(*corev1.PersistentVolumeClaim) bool
	// Passes is set if it ends by itself: then the PVC is not a gap.
	Passes bool
	// Problem is the reason of the problem that it is, if any, and message says what to do, of a namespace and a name.
	Problem, message string
}

// Skips apply in this order. They read only the PVC, so the plugin sees what they see.
var Skips = []Skip{
	{Reason: "being deleted", Passes: true, is: func(c *corev1.PersistentVolumeClaim) bool { return c.DeletionTimestamp != nil }},
	{
		Reason: "its volume is lost", is: func(c *corev1.PersistentVolumeClaim) bool { return c.Status.Phase == corev1.ClaimLost },
		Problem: v1alpha1.ReasonClaimLost,
		message: "its PersistentVolume is gone, and its data with it: kubectl snapsched restore -n '%s' --pvc='%s'",
	},
	{Reason: "not Bound", Passes: true, is: func(c *corev1.PersistentVolumeClaim) bool { return c.Status.Phase != corev1.ClaimBound }},
}

// SkipOf returns why a PVC is skipped; zero if it is not. An event enqueues it when that changes.
func SkipOf(claim *corev1.PersistentVolumeClaim) Skip {
	for _, s := range Skips {
		if s.is(claim) {
			return s
		}
	}
	return Skip{}
}

func skip(claim *corev1.PersistentVolumeClaim) SkipReason { return SkipOf(claim).Reason }
