// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

func TestOneAtATime(t *testing.T) {
	takesNext := func(s *script) {
		s.get("persistentvolumeclaims/data")
		s.wait(time.Second)
		s.creates(newSnapshot("b", noon.Add(6*time.Hour)))
	}
	comesLate := func(wait time.Duration) func(*script) {
		return func(s *script) {
			s.get("persistentvolumeclaims/data")
			s.wait(time.Second)
			s.others(newSnapshot("a", noon))
			s.wait(wait)
			s.creates(newSnapshot("b", noon.Add(6*time.Hour)))
		}
	}
	otherPVC := newSnapshot("a", noon)
	otherPVC.Labels = map[string]string{}
	judge(t, OneAtATime, []testCase{
		{"takes one beside those that were cut", given{ready("a", day)}.when(takesNext), ""},
		{"takes one beside an uncut one", given{newSnapshot("a", noon)}.when(takesNext), "while a existed"},
		{"takes one beside an uncut one that is being deleted", given{newSnapshot("a", noon)}.when(func(s *script) {
			s.editSnapshot("a", func(o *snapshotv1.VolumeSnapshot) { o.DeletionTimestamp = ptr.To(o.CreationTimestamp) })
			takesNext(s)
		}), "while a existed"},
		{"takes one when the uncut one is gone", given{newSnapshot("a", noon)}.when(func(s *script) {
			s.get("persistentvolumeclaims/data")
			s.gone("volumesnapshots/a")
			takesNext(s)
		}), ""},
		{"takes one beside another PVC's uncut one", given{otherPVC}.when(takesNext), ""},
		{"takes one beside an uncut one created a moment ago", given{}.when(comesLate(time.Second)), ""},
		{"takes one beside an uncut one created a minute ago", given{}.when(comesLate(time.Minute)), "while a existed"},
		{"takes one beside an uncut one during faults", given{newSnapshot("a", noon)}.when(func(s *script) {
			s.window(history.Faulty, s.now, time.Time{}, "")
			takesNext(s)
		}), ""},
	})
}
