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
	later := func(name string) *snapshotv1.VolumeSnapshot { return newSnapshot(name, noon.Add(6*time.Hour)) }
	judge(t, OneAtATime, []story{
		{"takes one beside those that were cut", func() *script {
			s := begin(ready("a", day))
			s.get("persistentvolumeclaims/data")
			s.creates(later("b"))
			return s
		}, ""},
		{"takes one beside an uncut one", func() *script {
			s := begin(newSnapshot("a", noon))
			s.get("persistentvolumeclaims/data")
			s.creates(later("b"))
			return s
		}, "while a was there"},
		{"takes one beside an uncut one that is on its way out", func() *script {
			s := begin(newSnapshot("a", noon))
			s.editSnapshot("a", func(o *snapshotv1.VolumeSnapshot) { o.DeletionTimestamp = ptr.To(o.CreationTimestamp) })
			s.get("persistentvolumeclaims/data")
			s.creates(later("b"))
			return s
		}, "while a was there"},
		{"takes one when the uncut one is gone", func() *script {
			s := begin(newSnapshot("a", noon))
			s.get("persistentvolumeclaims/data")
			s.gone("volumesnapshots/a")
			s.creates(later("b"))
			return s
		}, ""},
		{"takes one beside another PVC's uncut one", func() *script {
			other := newSnapshot("a", noon)
			other.Labels = map[string]string{}
			s := begin(other)
			s.get("persistentvolumeclaims/data")
			s.creates(later("b"))
			return s
		}, ""},
		{"takes one beside an uncut one that has just come", func() *script {
			s := begin()
			s.get("persistentvolumeclaims/data")
			s.wait(time.Second)
			s.others(newSnapshot("a", noon))
			s.wait(time.Second)
			s.creates(later("b"))
			return s
		}, ""},
		{"takes one beside an uncut one that came a while ago", func() *script {
			s := begin()
			s.get("persistentvolumeclaims/data")
			s.wait(time.Second)
			s.others(newSnapshot("a", noon))
			s.wait(time.Minute)
			s.creates(later("b"))
			return s
		}, "while a was there"},
		{"is shown the past", func() *script {
			s := begin(newSnapshot("a", noon))
			s.window(history.Faulty, s.now, time.Time{}, "")
			s.get("persistentvolumeclaims/data")
			s.wait(time.Second)
			s.creates(later("b"))
			return s
		}, ""},
	})
}
