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
	"slices"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestFate(t *testing.T) {
	schedule, claim := newSchedule("every"), newClaim("data")
	old, recent, newest := ready("old", 11*day), ready("recent", day), ready("newest", time.Hour)
	all := []client.Object{schedule, claim, old, recent, newest}
	if left := Left(all, noon); !slices.Equal(left, []string{"old"}) {
		t.Errorf("left are %q, want the expired one", left)
	}
	if left := Left(all[:3], noon); len(left) > 0 {
		t.Errorf("left are %q, and that is the floor", left)
	}
	for s, want := range map[*snapshotv1.VolumeSnapshot]bool{old: true, recent: false, newest: false} {
		if may, why := MayDelete(all, s, noon); may != want {
			t.Errorf("%s may be deleted: %t (%s), want %t", s.Name, may, why, want)
		}
	}
	if at := Slot(newest); !at.Equal(noon.Add(-time.Hour)) {
		t.Errorf("the slot is %s", at)
	}
	newest.Annotations = nil
	if at := Slot(newest); !at.IsZero() {
		t.Errorf("the slot of one that tells none is %s", at)
	}
}
