// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Several series are judged at once by one Judge, each by its own snapshots.
func TestAJudgeIsSafeForConcurrentUse(t *testing.T) {
	s := every("6h")
	judge, err := NewJudge(judgeScheme(t), s.SnapshotSchedule, Classes{})
	must(t, err)
	var judges sync.WaitGroup
	for n := range 4 {
		judges.Go(func() {
			c, snapshots := claim("data").PersistentVolumeClaim, []client.Object{}
			for i := range n {
				snapshots = append(snapshots, ready(time.Duration(i+1)*time.Hour).by(s).VolumeSnapshot)
			}
			of := Series{MapKey: string(c.UID), Claims: []*corev1.PersistentVolumeClaim{c}, Snapshots: snapshots}
			for range 200 {
				if d := judge.Judge(noon, of); len(d.Outputs) != n || len(d.Retention.Verdicts) != n || len(d.KeptFor) != n {
					t.Errorf("of %d snapshots, %d are judged", n, len(d.Outputs))
					return
				}
			}
		})
	}
	judges.Wait()
}
