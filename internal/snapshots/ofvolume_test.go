// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

func (c claimBuilder) on(volume string) claimBuilder { c.Spec.VolumeName = volume; return c }

func (s snapshotBuilder) on(volume string) snapshotBuilder {
	annotate(s, v1alpha1.AnnotationVolume, volume)
	return s
}

// Contract: MAP-3.
func TestSnapshotsNameTheirVolume(t *testing.T) {
	s := every("6h")
	of := func(c claimBuilder) string {
		return snapshotOf(s, c, nil, noon).Annotations[v1alpha1.AnnotationVolume]
	}
	if got := of(claim("data").on("pv-1")); got != "pv-1" {
		t.Errorf("the volume is %q", got)
	}
	if got := of(claim("data")); got != "" {
		t.Errorf("of a PVC that names no volume, it is %q", got)
	}
	a, b := claim("a").member().on("pv-a"), claim("b").member().on("pv-b")
	group := newSnapshot(every("6h").grouped().SnapshotSchedule, &subject{
		claims: []*corev1.PersistentVolumeClaim{a.PersistentVolumeClaim, b.PersistentVolumeClaim}, key: wholeKey, group: "backup",
	}, nil, noon).(*groupv1.VolumeGroupSnapshot)
	cached := strip(t, stripGroup, group.DeepCopy())
	for _, v := range []*groupv1.VolumeGroupSnapshot{group, cached} {
		if of := backup.VolumesOf(v); of["a"] != "pv-a" || of["b"] != "pv-b" || of["c"] != "" {
			t.Errorf("the volumes are %v", v.Annotations)
		}
	}
}

// Of which volume a snapshot is, is the same in the cache, also if it is stripped twice.
//
// Contract: LIMIT-3.
func TestWhichSnapshotsAreOfTheVolume(t *testing.T) {
	c := claim("data").on("pv-2").created(ago(time.Hour))
	for name, tc := range map[string]struct {
		snapshot snapshotBuilder
		want     bool
	}{
		"of the volume":                         {ready(time.Minute).on("pv-2"), true},
		"of the volume, older than the PVC":     {ready(2 * time.Hour).on("pv-2"), true},
		"of another volume":                     {ready(2 * time.Hour).on("pv-1"), false},
		"of another volume, younger":            {ready(time.Minute).on("pv-1"), false},
		"does not say, and is older":            {ready(time.Hour + time.Second), false},
		"does not say, and is as old":           {ready(time.Hour), true},
		"does not say, and is younger":          {ready(time.Minute), true},
		"longer than a name, and is younger":    {ready(time.Minute).on(strings.Repeat("a", 300)), true},
		"longer than a name, and is older":      {ready(2 * time.Hour).on(strings.Repeat("a", 300)), false},
		"it has no labels, and is of the other": {ready(time.Minute).on("pv-1").labeled(nil), false},
	} {
		once := strip(t, stripSnapshot, tc.snapshot.DeepCopy())
		for what, v := range map[string]*snapshotv1.VolumeSnapshot{
			"live": tc.snapshot.VolumeSnapshot, "cached": once, "stripped twice": strip(t, stripSnapshot, once.DeepCopy()),
		} {
			if got := backup.IsOfVolume(v, c.PersistentVolumeClaim, backup.VolumeText(v)); got != tc.want {
				t.Errorf("%s, %s: got %v, want %v", name, what, got, tc.want)
			}
		}
	}
}

func (s snapshotBuilder) labeled(labels map[string]string) snapshotBuilder {
	s.Labels = labels
	return s
}

// A rollback carries the snapshots of the old volume over to the new PVC: the new volume has none of them.
//
// Contract: LIMIT-3, LIMIT-5.
func TestVolumeLimitCountsNoneOfAnotherVolume(t *testing.T) {
	for name, tc := range map[string]struct {
		snapshots series
		full      bool
		message   string // of VolumeLimit
	}{
		"carried over":                   {series{ready(7 * time.Hour).on("pv-1"), ready(13 * time.Hour).on("pv-1"), ready(19 * time.Hour).on("pv-1")}, false, ""},
		"carried over, without a volume": {series{ready(7 * time.Hour), ready(13 * time.Hour), ready(19 * time.Hour)}, false, ""},
		"of the volume": {
			series{ready(7 * time.Hour).on("pv-2"), ready(13 * time.Hour).on("pv-2"), ready(19 * time.Hour).on("pv-2")},
			true, "allows 3 snapshots per PVC, and there are 3",
		},
		"a held one takes the place for the next": {
			series{ready(time.Minute).on("pv-2").held()}, false, "keeps up to 3 snapshots per PVC, 1 with a hold included, and needs a place for the next",
		},
		"a hold that ends soon":        {series{ready(time.Minute).on("pv-2").heldUntil(rfc3339(in(day)))}, false, ""},
		"a held one of another volume": {series{ready(7 * time.Hour).on("pv-1").held()}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc := tc
			mc := mapCase{
				schedule: every("6h").maxCount(2), claim: claim("data").of(testDriver).on("pv-2").created(ago(10 * time.Minute)),
				snapshots: tc.snapshots, classes: classes{limited(class("c", testDriver), "max-per-volume", "3")},
			}
			for i := range mc.snapshots {
				mc.snapshots[i].Labels = map[string]string{v1alpha1.LabelMapKey: "data-uid"}
			}
			status := statusOf(mc.decider(t)(mc.observe()))
			if status.noPlace != tc.full {
				t.Errorf("no place: %v, want %v", status.noPlace, tc.full)
			}
			var messages []string
			for _, p := range status.Problems {
				if p.Reason == v1alpha1.ReasonVolumeLimit {
					messages = append(messages, p.Message)
				}
			}
			if got := strings.Join(messages, "; "); !strings.Contains(got, tc.message) || (got == "") != (tc.message == "") {
				t.Errorf("says %q, want %q", got, tc.message)
			}
		})
	}
}

// Whoever may edit a PVC can remove the annotation that names its driver.
//
// Contract: LIMIT-9.
func TestLimitsOfAnUnknownDriver(t *testing.T) {
	fast := limited(class("fast", testDriver), "max-pending", "10", "max-per-volume", "5", "min-spacing", "1m")
	slow := limited(class("slow", "slow.example.com"), "max-pending", "20", "max-in-flight", "7", "max-per-volume", "3")
	taken := ready(time.Hour)
	taken.Spec.VolumeSnapshotClassName = new("slow")
	older, chosen := ready(30*day), uncut(time.Minute)
	older.Spec.VolumeSnapshotClassName, chosen.Spec.VolumeSnapshotClassName = new("slow"), new("slow")
	gone := ready(time.Hour)
	gone.Spec.VolumeSnapshotClassName = new("gone")
	for name, tc := range map[string]struct {
		classes     classes
		snapshots   series
		known       bool
		driver      driver
		want        capacity
		wantGuessed bool
	}{
		"of the class in its newest snapshot": {classes{fast, slow}, series{taken}, false, "slow.example.com", capacity{inFlight: 7, pending: 20, perVolume: 3}, true},
		"of the only driver":                  {classes{fast, plainClass("other", testDriver)}, nil, false, testDriver, capacity{pending: 10, perVolume: 5, spacing: time.Minute}, true},
		"the strictest of all":                {classes{fast, slow}, series{gone}, false, "", capacity{inFlight: 7, pending: 10, perVolume: 3, spacing: time.Minute}, true},
		"known, of no snapshot":               {classes{fast, slow}, nil, true, testDriver, capacity{pending: 10, perVolume: 5, spacing: time.Minute}, false},
		"known, of an uncut one":              {classes{fast, slow}, series{chosen}, true, testDriver, capacity{pending: 10, perVolume: 5, spacing: time.Minute}, false},
		"another one than the storage's":      {classes{fast, slow}, series{taken}, true, "slow.example.com", capacity{inFlight: 7, pending: 20, perVolume: 3}, false},
		"known, of one of an earlier volume":  {classes{fast, slow}, series{older}, true, testDriver, capacity{pending: 10, perVolume: 5, spacing: time.Minute}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := claim("data")
			if tc.known {
				c = c.of(testDriver)
			}
			known := Classes{Known: true, All: tc.classes}
			says := known.limitedBy(wantedOf(&every("6h").Spec, nil), driverOf(c.PersistentVolumeClaim), nil)
			got, guessed := known.limitOf(says, tc.snapshots.objects(), c.CreationTimestamp.Time)
			if got != tc.driver || guessed != tc.wantGuessed {
				t.Errorf("the driver is %q, a guess: %v", got, guessed)
			}
			found := Classes{Known: true, All: tc.classes}.capacityOf(got)
			found.perVolumeClass = ""
			if found != tc.want {
				t.Errorf("the limits are %+v, want %+v", found, tc.want)
			}
		})
	}
}

// Contract: LIMIT-9.
func TestAGuessedLimitSaysSo(t *testing.T) {
	const want = "the driver of the PVC is unknown, so the limits are a guess: name a class in the schedule"
	full := mapCase{
		schedule: every("6h"), snapshots: series{ready(7 * time.Hour)},
		classes: classes{limited(class("fast", testDriver), "max-per-volume", "1")},
	}
	full.snapshots[0].Labels = map[string]string{v1alpha1.LabelMapKey: "data-uid"}
	for driver, guessed := range map[string]bool{"": true, testDriver: false} {
		if full.claim = claim("data"); driver != "" {
			full.claim = full.claim.of(driver)
		}
		status := statusOf(full.decider(t)(full.observe()))
		if !status.noPlace || len(status.Problems) == 0 || strings.Contains(status.Problems[0].Message, want) != guessed {
			t.Errorf("driver %q: %+v", driver, status.Problems)
		}
	}
}

// A snapshot of a PVC without a driver counts for that of the class which the snapshot controller has written into it.
//
// Contract: LIMIT-2, LIMIT-9.
func TestASnapshotOfAnUnknownDriverCountsForItsClass(t *testing.T) {
	f := newFlight(10, limited(class("fast", testDriver), "max-pending", "1"), class("slow", "slow.example.com"),
		every("6h").SnapshotSchedule, claim("data").PersistentVolumeClaim)
	v := uncut(time.Minute).by(every("6h"))
	v.Spec.VolumeSnapshotClassName = new("fast")
	f.add(v.VolumeSnapshot)
	f.event(backupOfShop, nil, v.VolumeSnapshot)
	if f.ask("other") {
		t.Error("max-pending does not hold")
	}
}

// Whatever readyDeadline of the tenant says, another namespace gets the place an hour later.
//
// Contract: LIMIT-2.
func TestPendingEndsUnderTheLongestReadyDeadline(t *testing.T) {
	s := every("6h").readyDeadline("100y")
	f := newFlight(0, limited(class("fast", testDriver), "max-pending", "1"), s.SnapshotSchedule, claim("data").of(testDriver).PersistentVolumeClaim)
	v := uncut(time.Minute).by(s).VolumeSnapshot
	f.add(v)
	f.event(backupOfShop, nil, v)
	if f.ask("victim") {
		t.Fatal("not full")
	}
	f.clock.SetTime(in(time.Hour - time.Minute))
	f.pass(v)
	if !f.ask("victim") {
		t.Error("an hour after its creation, the uncut snapshot still takes the only place of the driver")
	}
}

// The snapshots of a PVC are read without the lock. One that was taken, cut and ready meanwhile is neither among them nor
// in flight, and counts all the same.
//
// Contract: LIMIT-3.
func TestASnapshotThatIsTakenWhileTheOthersAreReadCounts(t *testing.T) {
	s := every("6h")
	f := newFlight(10, limited(class("fast", testDriver), "max-per-volume", "1"), s.SnapshotSchedule, claim("data").of(testDriver).PersistentVolumeClaim)
	read, reads := f.engine.Outputs, 0
	f.engine.Outputs = func(req mapcontroller.Request) []client.Object {
		before := read(req)
		if reads++; reads == 1 { // another schedule's pass
			v := uncut(time.Minute).by(s)
			f.with(func(now time.Time) []limits.Wake {
				of := limits.Snapshot{Namespace: "shop", Name: v.Name, Schedule: "backup", Limit: testDriver, Volumes: []string{"data-uid"}}
				return f.limits.Seen(now, of, limits.Stage{Created: now, Uncut: true})
			})
			after := ready(time.Minute).by(s)
			f.add(after.VolumeSnapshot)
			f.event(backupOfShop, v.VolumeSnapshot, after.VolumeSnapshot)
		}
		return before
	}
	d := mapcontroller.Desired{Object: snapshotOf(s, claim("data"), nil, noon), Limit: testDriver, Since: noon}
	if why := f.allow(keyOf("data-uid"), []mapcontroller.Desired{d}, nil); why != string(limits.VolumeLimit) {
		t.Errorf("it may be created: %q; %d reads", why, reads)
	}
}

// Contract: LIMIT-8.
func TestGroupWaitsSaysWhatHasThePlaces(t *testing.T) {
	f := newFlight(0)
	f.with(func(now time.Time) []limits.Wake {
		return f.limits.Seen(now, limits.Snapshot{Namespace: "other", Name: "x", Schedule: "s", Limit: testDriver}, limits.Stage{Created: now})
	})
	req := limits.Request(keyOf(wholeKey))
	ask := func() {
		f.with(func(now time.Time) []limits.Wake {
			of := limits.Snapshot{Namespace: "shop", Name: "g", Schedule: "backup", Limit: testDriver, Volumes: []string{"a", "b"}}
			_, wake := f.limits.MayCreate(now, limits.Create{Request: req, Snapshot: of, Since: now, Sizes: limits.Sizes{Pending: 2}})
			return wake
		})
	}
	if ask(); f.shortage(req, testDriver).Reason != "" {
		t.Fatal("the problem stands while the driver is reserved for it")
	}
	f.clock.SetTime(in(time.Hour))
	ask()
	p := f.shortage(req, testDriver)
	const want = "the group needs 2 places, but found no room while driver csi.example.com was reserved for this namespace: " +
		"of 2 (max-pending), this namespace uses 0 and others use 1; to list those of this namespace: kubectl snapsched list -n 'shop'"
	if p.Reason != v1alpha1.ReasonGroupWaits || p.Message != want || p.fails() {
		t.Errorf("the problem is %+v", p)
	}
}
