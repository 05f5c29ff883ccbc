// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"testing"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// Contract: GRP-16.
func TestAGroupWhosePVCsHaveChangedSettlesFirst(t *testing.T) {
	second := func(n int) time.Time { return ago(time.Duration(n) * time.Second) }
	another := func(c *corev1.PersistentVolumeClaim) { c.UID = "another" }
	recent := []groupBuilder{group(7*time.Hour, "a b", "a b")} // the slot is an hour old
	for name, tc := range map[string]struct {
		groupCase
		same, changing time.Time
		want           time.Time // when it may be taken; zero: now
	}{
		"new, seen just now":                      {groupCase{}, noon, noon, in(10 * time.Second)},
		"new, one has joined":                     {groupCase{}, second(4), second(9), in(6 * time.Second)},
		"new, the same for 10 s":                  {groupCase{}, second(10), second(10), time.Time{}},
		"new, as far as is known outside":         {groupCase{}, time.Time{}, time.Time{}, time.Time{}},
		"as the newest group snapshot has it":     {groupCase{groups: recent}, noon, noon, time.Time{}},
		"others than of the newest":               {groupCase{groups: []groupBuilder{group(7*time.Hour, "a", "a")}}, second(3), second(3), in(7 * time.Second)},
		"fewer than of the newest":                {groupCase{groups: recent, claims: []claimBuilder{claim("a")}}, second(3), second(3), in(7 * time.Second)},
		"as an older one has it":                  {groupCase{groups: []groupBuilder{group(13*time.Hour, "a b", "a b"), group(7*time.Hour, "a", "a")}}, noon, noon, in(10 * time.Second)},
		"as one has it that is being deleted":     {groupCase{groups: []groupBuilder{group(7*time.Hour, "a b", "a b").deletingSince(ago(time.Minute))}}, noon, noon, time.Time{}},
		"another PVC of the name":                 {groupCase{groups: recent, claims: []claimBuilder{claim("a").with(another), claim("b")}}, noon, noon, in(10 * time.Second)},
		"changing for 2 minutes":                  {groupCase{}, second(1), second(120), time.Time{}},
		"changing for almost 2 minutes":           {groupCase{}, second(1), second(115), in(5 * time.Second)},
		"changing when the slot became due":       {groupCase{schedule: cron("59 11 * * *", "").grouped(), groups: []groupBuilder{group(24*time.Hour+time.Minute, "a", "a")}}, noon, second(600), in(10 * time.Second)},
		"changing for 2 minutes since the slot":   {groupCase{schedule: cron("58 11 * * *", "").grouped(), groups: []groupBuilder{group(24*time.Hour+2*time.Minute, "a", "a")}}, noon, second(600), time.Time{}},
		"too late soon":                           {groupCase{schedule: every("6h").grouped().deadline("3605s")}, noon, noon, in(4 * time.Second)},
		"too late in a second":                    {groupCase{schedule: every("6h").grouped().deadline("3601s")}, noon, noon, time.Time{}},
		"requested":                               {groupCase{schedule: every("6h").grouped().requested(rfc3339(noon))}, noon, noon, in(10 * time.Second)},
		"every minute, and changing all the time": {groupCase{schedule: every("1m").grouped(), groups: []groupBuilder{group(3*time.Minute, "a", "a")}}, noon, second(600), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.change = func(seen *mapcontroller.Observation) { seen.SameSince, seen.ChangingSince = tc.same, tc.changing }
			d := tc.decide(t)
			if got := len(d.Ensure) > 0; got != tc.want.IsZero() {
				t.Errorf("takes it: %t", got)
			}
			if !tc.want.IsZero() && (!d.Next.Equal(tc.want) || !statusOf(d).due) {
				t.Errorf("next %v, due %t; want %v", d.Next, statusOf(d).due, tc.want)
			}
		})
	}
}

// Whoever creates, labels and deletes PVCs in a loop puts a slot off by 2 minutes and no more.
//
// Contract: GRP-16.
func TestChangesPutAGroupOffByTwoMinutes(t *testing.T) {
	compiled, err := Compile(every("1m").grouped().SnapshotSchedule)
	must(t, err)
	rapid.Check(t, func(t *rapid.T) {
		seen := mapcontroller.Observation{MapKey: wholeKey, Now: noon}
		last := noon // what was taken last
		for n := 0; seen.Now.Before(noon.Add(4 * time.Minute)); n++ {
			if n == 0 {
				seen.ChangingSince = seen.Now
			}
			seen.SameSince = seen.Now
			seen.Selected = append(seen.Selected[:0:0], claim("a").member().PersistentVolumeClaim, claim("b").member().with(func(c *corev1.PersistentVolumeClaim) { c.UID = types.UID(rfc3339(seen.Now)) }).PersistentVolumeClaim)
			d := compiled.Map(seen)
			for _, e := range d.Ensure {
				v := e.Object.(*groupv1.VolumeGroupSnapshot)
				seen.Children = append(seen.Children, Complete(v, metav1.NewTime(seen.Now))...)
				seen.Outputs, last = append(seen.Outputs, v), seen.Now
			}
			if lacks := seen.Now.Sub(last); lacks > time.Minute+settleWithin+settleFor {
				t.Fatalf("none was taken for %v", lacks)
			}
			seen.Now = seen.Now.Add(time.Duration(rapid.IntRange(5, 9).Draw(t, "pause")) * time.Second)
		}
	})
}
