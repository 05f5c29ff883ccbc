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
	judge(t, OneAtATime, []testCase{
		{"takes one beside those that were cut", given{ready("a", day)}.when(func(s *script) {
			s.get("persistentvolumeclaims/data")
			s.creates(later("b"))
		}), ""},
		{"takes one beside an uncut one", given{newSnapshot("a", noon)}.when(func(s *script) {
			s.get("persistentvolumeclaims/data")
			s.creates(later("b"))
		}), "while a existed"},
		{"takes one beside an uncut one that is being deleted", given{newSnapshot("a", noon)}.when(func(s *script) {
			s.editSnapshot("a", func(o *snapshotv1.VolumeSnapshot) { o.DeletionTimestamp = ptr.To(o.CreationTimestamp) })
			s.get("persistentvolumeclaims/data")
			s.creates(later("b"))
		}), "while a existed"},
		{"takes one when the uncut one is gone", given{newSnapshot("a", noon)}.when(func(s *script) {
			s.get("persistentvolumeclaims/data")
			s.gone("volumesnapshots/a")
			s.creates(later("b"))
		}), ""},
		{"takes one beside another PVC's uncut one", func() *script {
			other := newSnapshot("a", noon)
			other.Labels = map[string]string{}
			s := begin(other)
			s.get("persistentvolumeclaims/data")
			s.creates(later("b"))
			return s
		}, ""},
		{"takes one beside an uncut one created a moment ago", given{}.when(func(s *script) {
			s.get("persistentvolumeclaims/data")
			s.wait(time.Second)
			s.others(newSnapshot("a", noon))
			s.wait(time.Second)
			s.creates(later("b"))
		}), ""},
		{"takes one beside an uncut one created a minute ago", given{}.when(func(s *script) {
			s.get("persistentvolumeclaims/data")
			s.wait(time.Second)
			s.others(newSnapshot("a", noon))
			s.wait(time.Minute)
			s.creates(later("b"))
		}), "while a existed"},
		{"takes one beside an uncut one during faults", given{newSnapshot("a", noon)}.when(func(s *script) {
			s.window(history.Faulty, s.now, time.Time{}, "")
			s.get("persistentvolumeclaims/data")
			s.wait(time.Second)
			s.creates(later("b"))
		}), ""},
	})
}
