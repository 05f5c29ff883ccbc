/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
