// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

func TestCounts(t *testing.T) {
	// writes is a status of the operator, which started a moment ago, under a generation.
	writes := func(generation int64, total int32, inputs *v1alpha1.Inputs, steps ...func(*script)) func(*script) {
		return func(s *script) {
			s.Windows = append(s.Windows, history.Window{Kind: history.Unsynced, From: s.now, Until: s.now.Add(time.Second)})
			s.wait(time.Second)
			for _, do := range steps {
				do(s)
			}
			s.request("patch", "snapshotschedules/status", "every")
			o := s.existing["snapshotschedules/every"].DeepCopyObject().(*v1alpha1.SnapshotSchedule)
			o.Status.ObservedGeneration, o.Status.Inputs, o.Status.Outputs.VolumeSnapshots.Total = generation, inputs, total
			s.commit("snapshotschedules/every", o, len(s.Requests)-1)
		}
	}
	some := &v1alpha1.Inputs{}
	two := given{ready("a", time.Hour), ready("b", time.Hour)}
	const want = "counts 1 snapshots under generation 1; it had 2 when the operator started"
	judge(t, Counts, []testCase{
		{"all", two.when(writes(1, 2, some)), ""},
		{"fewer", two.when(writes(1, 1, some)), want},
		{"fewer, of an earlier generation", two.when(writes(0, 1, some)), ""},
		{"nothing is counted", two.when(writes(1, 0, nil)), ""},
		{"one is gone", two.when(writes(1, 1, some, func(s *script) { s.gone("volumesnapshots/a") })), ""},
		{"one is released", two.when(writes(1, 1, some, func(s *script) {
			s.editSnapshot("a", func(v *snapshotv1.VolumeSnapshot) { v.Labels = nil })
		})), ""},
		{"one was cut since", two.when(writes(1, 1, some, func(s *script) {
			s.editSnapshot("a", func(v *snapshotv1.VolumeSnapshot) { cut(v, noon) })
		})), want},
		{"one is new", two.when(writes(1, 2, some, func(s *script) { s.others(ready("new", 0)) })), ""},
		{"one is back", two.when(writes(1, 1, some, func(s *script) {
			s.editSnapshot("a", func(v *snapshotv1.VolumeSnapshot) { v.Labels = nil })
			s.editSnapshot("a", func(v *snapshotv1.VolumeSnapshot) { v.Labels = ready("a", 0).Labels })
		})), ""},
		{"another write, after one of before", two.when(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) {
				o.Generation = 0
				o.Status.ObservedGeneration, o.Status.Inputs = 1, some
			})
			writes(1, 0, some)(s)
		}), ""},
	})
}
