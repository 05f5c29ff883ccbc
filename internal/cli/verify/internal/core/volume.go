// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/drivers"
)

// Volume is what is known about the volume of a drill.
type Volume struct {
	// Claim is the UID of its PVC; empty before there is one.
	Claim types.UID
	// Bound means that the PVC has had a volume.
	Bound bool
	// Events are about the PVC.
	Events []corev1.Event
	// Provisioner is that of the PVC's StorageClass; empty if it may not be read.
	Provisioner string
}

// codes are those with which a driver refuses for good. The codes that are missing say that it could not try.
var codes = map[string]struct{ ifOthers bool }{
	"InvalidArgument": {}, "NotFound": {}, "AlreadyExists": {}, "FailedPrecondition": {}, "OutOfRange": {}, "Unimplemented": {},
	"DataLoss": {},
	// These are said of everything that goes wrong, so another snapshot has to show that the storage works.
	"Internal": {ifOthers: true}, "Unknown": {ifOthers: true},
}

// verdict returns what a volume that never came says about the snapshot, once the deadline of the Job has passed; Running
// if nothing. The first half of the time does not count: a driver may need some attempts.
func (v Volume) verdict(job *batchv1.Job) Verdict {
	if v.Bound || v.Claim == "" || v.Provisioner == "" {
		return Verdict{}
	}
	since := job.CreationTimestamp.Add(time.Duration(*job.Spec.ActiveDeadlineSeconds) * time.Second / 2)
	var last *corev1.Event
	var ifOthers bool
	for i := range v.Events {
		e := &v.Events[i]
		said, _, answered := drivers.Answer(e.Message)
		if !answered || !v.byProvisioner(e) || drivers.EventTime(e).Before(since) {
			continue
		}
		code, refused := codes[said]
		switch {
		case drivers.Transient(said):
			return Verdict{}
		case !refused:
			continue // not a code
		}
		ifOthers = ifOthers || code.ifOthers
		if last == nil || drivers.EventTime(last).Before(drivers.EventTime(e)) {
			last = e
		}
	}
	switch {
	case last == nil:
		return Verdict{}
	case ifOthers:
		return Verdict{Result: Inconclusive, Reason: "no volume came of it: " + inWords(last), FailedIfOthers: true}
	}
	return Verdict{Result: Failed, Reason: "the storage cannot restore it: " + inWords(last)}
}

// OtherRestored returns whether another snapshot of the class was restored: one whose drill of this command got a volume,
// or that was verified by anybody during the drill.
func OtherRestored(v *snapshotv1.VolumeSnapshot, others []snapshotv1.VolumeSnapshot, restored map[types.UID]bool, job *batchv1.Job) bool {
	class := ptr.Deref(backup.ClassOf(v), "")
	begin := job.CreationTimestamp.Time
	end := begin.Add(time.Duration(*job.Spec.ActiveDeadlineSeconds) * time.Second)
	return class != "" && slices.ContainsFunc(others, func(o snapshotv1.VolumeSnapshot) bool {
		if o.UID == v.UID || ptr.Deref(backup.ClassOf(&o), "") != class {
			return false
		}
		at := backup.Of(&o).VerifiedAt
		return restored[o.UID] || !at.Before(begin) && !at.After(end)
	})
}

// byProvisioner returns whether an event is the provisioner's. Its name is followed by an ID of the process.
func (v Volume) byProvisioner(e *corev1.Event) bool {
	return slices.ContainsFunc([]string{e.Source.Component, e.ReportingController}, func(by string) bool {
		return by == v.Provisioner || strings.HasPrefix(by, v.Provisioner+"_")
	})
}

// words are the last ones about a PVC that has no volume.
func (v Volume) words() string {
	last := latestWarning(v.Events)
	if v.Bound || last == nil {
		return ""
	}
	return last.Reason + ": " + inWords(last)
}

// inWords returns the driver's words in an event, or all of it.
func inWords(e *corev1.Event) string {
	if code, words, ok := drivers.Answer(e.Message); ok {
		return fmt.Sprintf("%s: %s", code, words)
	}
	return e.Message
}

func latestWarning(events []corev1.Event) (last *corev1.Event) {
	for i := range events {
		e := &events[i]
		if e.Type == corev1.EventTypeWarning && (last == nil || drivers.EventTime(last).Before(drivers.EventTime(e))) {
			last = e
		}
	}
	return last
}
