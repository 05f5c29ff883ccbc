// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func TestTimeIsNeverTooEarly(t *testing.T) {
	noAnnotation := func(v *snapshotv1.VolumeSnapshot) { v.Annotations = nil }
	for name, c := range map[string]struct {
		v    *snapshotv1.VolumeSnapshot
		want time.Time
	}{
		"cut at once":                   {snapshot("a", "1", at(2, 0)), at(2, 0)},
		"cut late":                      {snapshot("a", "1", at(2, 0), cutAt(at(9, 0))), at(9, 0)},
		"epoch from the driver":         {snapshot("a", "1", at(2, 0), cutAt(time.Unix(0, 0))), at(2, 0)},
		"future from the driver":        {snapshot("a", "1", at(2, 0), cutAt(noon.Add(time.Hour))), at(2, 0)},
		"imported, with its slot":       {snapshot("a", "1", at(11, 0), fromContent(at(3, 0)), cutAt(at(3, 1))), at(3, 1)},
		"imported, driver says earlier": {snapshot("a", "1", at(11, 0), fromContent(at(3, 0)), cutAt(at(1, 0))), at(3, 0)},
		"imported, without its slot":    {snapshot("a", "1", at(11, 0), fromContent(at(3, 0)), cutAt(at(3, 1)), noAnnotation), at(11, 0)},
		"imported, with a slot later":   {snapshot("a", "1", at(10, 0), fromContent(at(11, 0)), cutAt(at(3, 1))), at(10, 0)},
		"not imported, with an earlier slot": {snapshot("a", "1", at(2, 0), cutAt(time.Unix(0, 0)), func(v *snapshotv1.VolumeSnapshot) {
			v.Annotations[v1alpha1.AnnotationScheduledAt] = at(1, 0).Format(time.RFC3339)
		}), at(2, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Time(c.v, noon); !got.Equal(c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	deleting := func(v *snapshotv1.VolumeSnapshot) { v.DeletionTimestamp = &metav1.Time{Time: noon} }
	noStatus := func(v *snapshotv1.VolumeSnapshot) { v.Status = nil }
	for name, c := range map[string]struct {
		snapshots []*snapshotv1.VolumeSnapshot
		asOf      time.Time
		want      string // a name, or a part of the error
	}{
		"the newest": {
			[]*snapshotv1.VolumeSnapshot{snapshot("a", "1", at(3, 0)), snapshot("a", "1", at(5, 0)), snapshot("a", "1", at(4, 0))}, noon, "a-0500",
		},
		"the newest at or before the time": {
			[]*snapshotv1.VolumeSnapshot{snapshot("a", "1", at(5, 0)), snapshot("a", "1", at(3, 0)), snapshot("a", "1", at(4, 0))}, at(4, 0), "a-0400",
		},
		"not one that was cut after the time": {
			[]*snapshotv1.VolumeSnapshot{snapshot("a", "1", at(3, 0)), snapshot("a", "1", at(4, 0), cutAt(at(6, 0)))}, at(5, 0), "a-0300",
		},
		"only ready ones": {
			[]*snapshotv1.VolumeSnapshot{
				snapshot("a", "1", at(3, 0)), snapshot("a", "1", at(4, 0), unready),
				snapshot("a", "1", at(5, 0), deleting), snapshot("a", "1", at(6, 0), noStatus),
			}, noon, "a-0300",
		},
		"none so early": {
			[]*snapshotv1.VolumeSnapshot{snapshot("a", "1", at(5, 0)), snapshot("a", "1", at(4, 0))}, at(2, 0),
			"no ready snapshot at or before 2026-11-21T02:00:00Z: the oldest ready one is a-0400, of 2026-11-21T04:00:00Z",
		},
		"none ready": {[]*snapshotv1.VolumeSnapshot{snapshot("a", "1", at(5, 0), unready)}, noon, "it has 1 that are not ready"},
		"none":       {nil, noon, "PersistentVolumeClaim a has no snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Choose(c.snapshots, "a", c.asOf, noon)
			switch {
			case v != nil && v.Name != c.want:
				t.Errorf("got %s, want %s", v.Name, c.want)
			case v == nil && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got error %v, want %q", err, c.want)
			}
		})
	}
}

func TestOfClaimFindsAllSeriesOfAName(t *testing.T) {
	all := []snapshotv1.VolumeSnapshot{
		*snapshot("a", "old", at(1, 0)),
		*snapshot("a", "new", at(2, 0)),
		*snapshot("a", "", at(3, 0)), // somebody else's
		*snapshot("b", "other", at(4, 0)),
		*snapshot("x", "old", at(5, 0), fromContent(at(0, 30))),
		*snapshot("y", "only-imported", at(6, 0), fromContent(at(0, 45))),
		*snapshot("z", "", at(7, 0), fromContent(at(0, 50))),
	}
	names := func(found []*snapshotv1.VolumeSnapshot) string {
		var s []string
		for _, v := range found {
			s = append(s, v.Name)
		}
		return strings.Join(s, " ")
	}
	if got, want := names(OfClaim(all, "a", claim("a", "new", at(1, 30)))), "a-0100 a-0200 a-0300 x-0500"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := names(OfClaim(all, "y", claim("y", "only-imported", at(0, 0)))), "y-0600"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := names(OfClaim(all, "y", nil)); got != "" {
		t.Errorf("got %s, want none", got)
	}
}
