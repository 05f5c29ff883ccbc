// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/cached"
)

// limited is a class with annotations: pairs of a name without the domain and a value.
func limited(c *snapshotv1.VolumeSnapshotClass, annotations ...string) *snapshotv1.VolumeSnapshotClass {
	for i := 0; i < len(annotations); i += 2 {
		annotate(c, v1alpha1.Prefix+annotations[i], annotations[i+1])
	}
	return c
}

// Contract: LIMIT-1.
func TestCapacityOfADriver(t *testing.T) {
	for name, tc := range map[string]struct {
		classes     classes
		want        capacity
		wantInvalid string
	}{
		"nothing is said": {classes: classes{class("a", testDriver)}},
		"all four": {
			classes: classes{limited(class("a", testDriver), "max-in-flight", "20", "max-pending", "10", "max-per-volume", "3", "min-spacing", "10m")},
			want:    capacity{inFlight: 20, pending: 10, perVolume: 3, spacing: 10 * time.Minute, perVolumeClass: "a"},
		},
		"the strictest of several classes, used or not": {
			classes: classes{
				limited(class("a", testDriver), "max-in-flight", "20", "max-pending", "9", "max-per-volume", "3", "min-spacing", "10m"),
				limited(plainClass("b", testDriver), "max-in-flight", "30", "max-pending", "8", "max-per-volume", "2", "min-spacing", "1h"),
				limited(plainClass("c", testDriver), "max-per-volume", "4", "min-spacing", "1m"),
			},
			want: capacity{inFlight: 20, pending: 8, perVolume: 2, spacing: time.Hour, perVolumeClass: "b"},
		},
		"another driver": {classes: classes{limited(class("a", "other.example.com"), "max-pending", "1")}},
		"zero":           {classes: classes{limited(class("a", testDriver), "max-pending", "0")}, wantInvalid: "max-pending"},
		"negative":       {classes: classes{limited(class("a", testDriver), "max-in-flight", "-1")}, wantInvalid: "max-in-flight"},
		"no number":      {classes: classes{limited(class("a", testDriver), "max-per-volume", "three")}, wantInvalid: `"three", which is not a positive integer`},
		"no duration":    {classes: classes{limited(class("a", testDriver), "min-spacing", "10")}, wantInvalid: `"10", which is not a duration`},
		"no spacing":     {classes: classes{limited(class("a", testDriver), "min-spacing", "0s")}, wantInvalid: "min-spacing"},
		"hostile text":   {classes: classes{limited(class("a", testDriver), "max-pending", "\x1b[2J"+strings.Repeat("x", 1000))}, wantInvalid: "it is ignored"},
		"one is malformed, and the others hold": {
			classes:     classes{limited(class("a", testDriver), "max-pending", "many", "max-per-volume", "3"), limited(plainClass("b", testDriver), "max-pending", "7")},
			want:        capacity{pending: 7, perVolume: 3, perVolumeClass: "a"},
			wantInvalid: "max-pending of VolumeSnapshotClass a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, o := range tc.classes {
				stripped, err := cached.Class(classAnnotations...)(o)
				must(t, err)
				o.SetAnnotations(stripped.(client.Object).GetAnnotations()) // as the cache has it
			}
			got := Classes{Known: true, All: tc.classes}.capacityOf(testDriver)
			if (got.invalid == "") != (tc.wantInvalid == "") || !strings.Contains(got.invalid, tc.wantInvalid) || len(got.invalid) > report.MaxProblem || strings.Contains(got.invalid, "\x1b") {
				t.Errorf("invalid: %q, want %q", got.invalid, tc.wantInvalid)
			}
			if got.invalid, got.remove = "", ""; got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

// What somebody has written into an annotation is not the command that doctor prints, and no part of a command is shown.
//
// Contract: LIMIT-1.
func TestTheCommandThatRemovesAnAnnotation(t *testing.T) {
	for _, name := range []string{"a", strings.Repeat("a", 253)} {
		all := Classes{Known: true, All: classes{limited(class(name, testDriver), "max-in-flight", "5: kubectl delete ns prod #")}}
		want := "kubectl annotate volumesnapshotclass '" + name + "' 'snapshots.mapcontroller.dev/max-in-flight-'"
		if _, why, command := all.Stated(testDriver); command != want || !strings.HasSuffix(why, "; it is ignored") {
			t.Errorf("%q, and %q", why, command)
		}
		of := all.capacityOf(testDriver)
		p := of.problem()
		if whole := strings.HasSuffix(p.Message, "; it is ignored; to remove it: "+want); len(p.Message) > report.MaxProblem || whole != (name == "a") ||
			!whole && !strings.HasSuffix(p.Message, "; it is ignored") {
			t.Errorf("%d bytes: %s", len(p.Message), p.Message)
		}
	}
}

// A change of a limit reconciles the PVCs, and so does the removal of one.
//
// Contract: LIMIT-1.
func TestClassesWithLimitsChange(t *testing.T) {
	for _, annotation := range capacityAnnotations {
		name := strings.TrimPrefix(annotation, v1alpha1.Prefix)
		if !classChanged(class("a", testDriver), limited(class("a", testDriver), name, "3")) ||
			!classChanged(limited(class("a", testDriver), name, "3"), limited(class("a", testDriver), name, "4")) {
			t.Errorf("a change of %s is ignored", name)
		}
	}
}

// Contract: LIMIT-5.
func TestWhatASpecKeeps(t *testing.T) {
	tiered := func(change func(*v1alpha1.Keep)) scheduleBuilder {
		s := every("1h")
		change(&s.Spec.Retention.Keep)
		return s
	}
	for name, tc := range map[string]struct {
		spec    scheduleBuilder
		want    int
		wantAll bool
	}{
		"everything":                 {spec: every("1h"), wantAll: true},
		"each minute, for a century": {spec: cron("* * * * *", "").ttl("100y"), want: mostSlots},
		"a cap":                      {spec: every("1h").maxCount(5), want: 5},
		"a TTL":                      {spec: every("1h").ttl("2h"), want: 2},
		"a TTL between slots":        {spec: every("1h").ttl("150m"), want: 3},
		"a TTL below the slot":       {spec: every("6h").ttl("1h"), want: 1},
		"a floor above the TTL":      {spec: every("6h").ttl("1h").minReady(4), want: 4},
		"what minVerified keeps":     {spec: every("1h").maxCount(5).minVerified(2), want: 7},
		"a TTL and a cap":            {spec: every("1h").ttl("1d").maxCount(3), want: 3},
		"tiers":                      {spec: tiered(func(k *v1alpha1.Keep) { k.Daily, k.Weekly, k.Monthly = 7, 4, 12 }), want: 23},
		"tiers and a TTL":            {spec: tiered(func(k *v1alpha1.Keep) { k.Daily = 7 }).ttl("3h"), want: 10},
		"a daily line":               {spec: cron("30 2 * * *", "").ttl("2d"), want: 2},
		"weekdays":                   {spec: cron("0 3 * * 1-5", "").ttl("7d"), want: 5},
		"twice on the first":         {spec: cron("0 3,4 1 * *", "").ttl("1d"), want: 2},
		"each minute":                {spec: cron("* * * * *", "Europe/Oslo").ttl("1h"), want: 60},
	} {
		p, err := compile(&tc.spec.Spec)
		must(t, err)
		if n, all := p.kept(); n != tc.want || all != tc.wantAll {
			t.Errorf("%s: keeps %d, all %v; want %d, %v", name, n, all, tc.want, tc.wantAll)
		}
	}
}

// chosen is of a class that the snapshot controller has chosen.
func (s snapshotBuilder) chosen(class string) snapshotBuilder {
	s.Spec.VolumeSnapshotClassName = &class
	return s
}

// under makes a snapshot one of PVC data under a schedule of some name.
func (s snapshotBuilder) under(schedule string) snapshotBuilder {
	s.Labels = map[string]string{v1alpha1.LabelMapKey: "data-uid", v1alpha1.LabelSchedule: schedule}
	s.Name, s.UID = schedule+"-"+s.Name, types.UID(schedule+"-"+string(s.UID))
	return s
}

// Contract: LIMIT-3, LIMIT-5, LIMIT-6, LIMIT-1.
func TestMapOfAVolumeWithPlaces(t *testing.T) {
	data := claim("data").of(testDriver)
	three := limited(class("fast", testDriver), "max-per-volume", "3")
	few := every("6h").ttl("12h")
	naming := func(class string) scheduleBuilder {
		s := every("6h").ttl("12h")
		s.Spec.SnapshotTemplate.Spec.VolumeSnapshotClassName = &class
		return s
	}
	twoDays := func(s scheduleBuilder) scheduleBuilder { s.Spec.Retention.Keep.Daily = 2; return s }
	for name, tc := range map[string]struct {
		schedule    scheduleBuilder
		own, others series
		class       *snapshotv1.VolumeSnapshotClass
		wantCreate  bool
		wantDelete  string
		wantProblem string
		wantFailing bool
	}{
		"there is a place": {schedule: few, class: three, own: series{ready(8 * time.Hour)}, wantCreate: true},
		"it keeps as many as may be": {
			schedule: every("6h").ttl("18h"), class: three, own: series{ready(time.Hour)},
			wantProblem: "keeps up to 3 snapshots per PVC and needs a place for the next; class fast allows 3: set retention.maxCount to 2 or less",
		},
		"it keeps as many as may be by several rules": {
			schedule: twoDays(every("6h").ttl("18h")), class: three, own: series{ready(time.Hour)}, // a maxCount would end the tier
			wantProblem: "keeps 3 or more snapshots per PVC and needs a place for the next; class fast allows 3",
		},
		"several rules may keep too many": {
			schedule: twoDays(every("6h").ttl("12h")), class: three, own: series{ready(time.Hour)},
			wantProblem: "may keep as many snapshots per PVC as class fast allows, 3, and needs a place for the next: " +
				"kubectl snapsched preview says how many it keeps",
		},
		"it keeps everything": {
			schedule: every("6h"), class: three, own: series{ready(time.Hour)},
			wantProblem: "keeps every snapshot of a PVC and needs a place for the next; class fast allows 3",
		},
		"there are more than a maxCount would leave": {
			schedule: every("6h").ttl("18h"), class: three, own: series{ready(time.Hour), ready(7 * time.Hour), ready(13 * time.Hour)},
			wantProblem: "keeps up to 3 snapshots per PVC and needs a place for the next; class fast allows 3",
		},
		"full by another schedule": {
			schedule: few, class: three, own: series{ready(8 * time.Hour)}, others: series{ready(2 * time.Hour), ready(3 * time.Hour).deleting()},
			wantProblem: "class fast allows 3 snapshots per PVC, and there are 3, of which are being deleted: other-3h0m0s; what keeps them: kubectl snapsched list -n 'shop' --pvc='data'", wantFailing: true,
		},
		"full, and nothing is due": {
			schedule: few, class: three, own: series{ready(time.Hour)}, others: series{ready(2 * time.Hour), ready(3 * time.Hour)},
		},
		"imported ones, and those of other PVCs, take no place": {
			schedule: few, class: three, own: series{ready(8 * time.Hour), imported(9 * time.Hour)},
			others: series{imported(2 * time.Hour), ready(3 * time.Hour).of("another")}, wantCreate: true,
		},
		"full, and one failed": {
			schedule: few, class: three, own: series{ready(8 * time.Hour).chosen("fast"), erring(9 * time.Hour)}, others: series{ready(2 * time.Hour)},
			wantProblem: "class fast allows 3 snapshots per PVC, and there are 3; what keeps them: kubectl snapsched list -n 'shop' --pvc='data'", wantFailing: true, wantDelete: "mine-9h0m0s",
		},
		"full, and one failed, of a class that the spec names": {
			schedule: naming("fast"), class: three, own: series{ready(8 * time.Hour), erring(9 * time.Hour)}, others: series{ready(2 * time.Hour)},
			wantProblem: "class fast allows 3 snapshots per PVC, and there are 3; what keeps them: kubectl snapsched list -n 'shop' --pvc='data'", wantFailing: true, wantDelete: "mine-9h0m0s",
		},
		"full, and one failed, but only the PVC names the driver": {
			schedule: few, class: three, own: series{ready(8 * time.Hour), erring(9 * time.Hour)}, others: series{ready(2 * time.Hour)},
			wantProblem: "class fast allows 3 snapshots per PVC, and there are 3; what keeps them: kubectl snapsched list -n 'shop' --pvc='data'", wantFailing: true,
		},
		"no limit": {schedule: every("6h"), class: class("fast", testDriver), own: series{ready(8 * time.Hour)}, wantCreate: true},
	} {
		t.Run(name, func(t *testing.T) {
			seen := mapcontroller.Observation{Now: noon, MapKey: "data-uid", Selected: []client.Object{data.PersistentVolumeClaim}}
			seen.Related = []client.Object{tc.class}
			for _, s := range tc.own {
				seen.Outputs = append(seen.Outputs, s.under("mine").VolumeSnapshot)
			}
			for _, s := range tc.others {
				seen.Related = append(seen.Related, s.under("other").VolumeSnapshot)
			}
			seen.Related = append(seen.Related, seen.Outputs...) // as the operator passes them
			program, err := Compile(tc.schedule.SnapshotSchedule)
			must(t, err)
			d := program.Map(seen)
			status := statusOf(d)
			if got := len(d.Ensure) == 1 && !status.noPlace; got != tc.wantCreate {
				t.Errorf("creates %v, without a place %v", slotsOf(d), status.noPlace)
			}
			if got := strings.Join(deletesOf(d), " "); got != tc.wantDelete {
				t.Errorf("deletes %q, want %q", got, tc.wantDelete)
			}
			var found Problem
			for _, p := range status.Problems {
				if p.Reason == v1alpha1.ReasonVolumeLimit {
					found = p
				}
			}
			if found.Message != tc.wantProblem || found.fails() != tc.wantFailing {
				t.Errorf("problem %q, failing %v; want %q, %v", found.Message, found.fails(), tc.wantProblem, tc.wantFailing)
			}
		})
	}
}

// of makes a snapshot one of another PVC, with the labels that it had.
func (s snapshotBuilder) of(claim string) snapshotBuilder {
	s.Spec.Source.PersistentVolumeClaimName = &claim
	return s
}

// Many PVCs of a driver have one problem in common, and Ready stays True.
//
// Contract: LIMIT-1.
func TestMalformedClassAnnotationIsOneProblem(t *testing.T) {
	s := every("6h").ttl("12h")
	program, err := Compile(s.SnapshotSchedule)
	must(t, err)
	summary := known(20)
	summary.Spec = specOf(s)
	for range 20 {
		d := program.Map(mapcontroller.Observation{
			Now: noon, MapKey: "data-uid", Selected: []client.Object{claim("data").of(testDriver).PersistentVolumeClaim},
			Outputs: series{ready(time.Hour)}.objects(), Related: []client.Object{limited(class("fast", testDriver), "max-pending", "x")},
		})
		summary.Keys = append(summary.Keys, d.Status)
	}
	setStatus(noon, s.SnapshotSchedule, summary)
	if p := s.Status.Problems; len(p) != 1 || p[0].Reason != v1alpha1.ReasonInvalidClassAnnotation || p[0].PersistentVolumeClaim != "" {
		t.Errorf("problems are %v", p)
	}
	if !strings.HasPrefix(readyMessage(s), "20 PersistentVolumeClaims") {
		t.Errorf("Ready says %q", readyMessage(s))
	}
}

// What the operator reads for a decision has the snapshots of all schedules of the key, where a class limits them.
//
// Contract: LIMIT-3.
func TestRelatedAreTheSnapshotsOfAllSchedules(t *testing.T) {
	for annotation, want := range map[string]int{"max-per-volume": 5, "max-pending": 1} { // the class, and two snapshots of each schedule
		p := newPopulation(t)
		hourly, daily := every("1h").named("hourly"), every("1d").named("daily")
		daily.UID = "daily-uid"
		must(t, p.classes.Add(limited(class("fast", testDriver), annotation, "3")))
		for _, s := range []scheduleBuilder{hourly, daily} {
			must(t, p.schedules.Add(s.SnapshotSchedule))
			p.addSnapshots(t, s, nthClaim(0), 0, 2)
			p.addSnapshots(t, s, nthClaim(1), 0, 1)
		}
		if got := p.related(hourly.SnapshotSchedule, mapcontroller.Observation{MapKey: string(nthClaim(0).UID)}); len(got) != want {
			t.Errorf("%s: %d objects, want %d", annotation, len(got), want)
		}
	}
}

// Outside of the operator, too: what has no place is not created, also where other schedules' snapshots take the places, and what is
// wrong with the classes is said.
//
// Contract: LIMIT-1, LIMIT-3.
func TestJudgeOfAFullVolume(t *testing.T) {
	scheme := k8sruntime.NewScheme()
	must(t, v1alpha1.AddToScheme(scheme))
	must(t, snapshotv1.AddToScheme(scheme))
	must(t, groupv1.AddToScheme(scheme))
	must(t, corev1.AddToScheme(scheme))
	for allowed, wantCreate := range map[string]bool{"2": false, "3": true} {
		s := every("6h").ttl("6h")
		found := classes{limited(class("fast", testDriver), "max-per-volume", allowed, "max-pending", "many")}
		judge, err := NewJudge(scheme, s.SnapshotSchedule, Classes{Known: true, All: found})
		must(t, err)
		all := series{ready(8 * time.Hour).by(s), ready(2 * time.Hour).under("other")}
		d := judge.Judge(noon, Series{
			MapKey: "data-uid", Claims: []*corev1.PersistentVolumeClaim{claim("data").of(testDriver).PersistentVolumeClaim}, Snapshots: all.objects(),
		})
		if got := len(d.Create) > 0; got != wantCreate {
			t.Errorf("of %s: creates %v", allowed, d.Create)
		}
		var reasons []string
		for _, p := range d.Problems {
			reasons = append(reasons, p.Reason)
		}
		if !slices.Contains(reasons, v1alpha1.ReasonInvalidClassAnnotation) || slices.Contains(reasons, v1alpha1.ReasonVolumeLimit) == wantCreate {
			t.Errorf("of %s: problems %v", allowed, d.Problems)
		}
	}
}

// What VolumeSnapshotClasses say of the driver holds for groups, too, where VolumeGroupSnapshotClasses may not be read.
//
// Contract: LIMIT-3.
func TestJudgeOfAFullVolumeOfAGroupWithoutGroupClasses(t *testing.T) {
	scheme := k8sruntime.NewScheme()
	must(t, errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), snapshotv1.AddToScheme(scheme), groupv1.AddToScheme(scheme)))
	for _, named := range []*string{nil, new("groups")} {
		s := every("6h").grouped()
		s.Spec.Group.VolumeGroupSnapshotClassName = named
		judge, err := NewJudge(scheme, s.SnapshotSchedule, Classes{
			Known: true, GroupsUnknown: true, All: classes{limited(class("fast", testDriver), "max-per-volume", "1")},
		})
		must(t, err)
		a := claim("a").member().of(testDriver).PersistentVolumeClaim
		d := judge.Judge(noon, Series{
			MapKey: judge.Key(a), Claims: []*corev1.PersistentVolumeClaim{a}, Snapshots: []client.Object{group(7*time.Hour, "a", "a").VolumeGroupSnapshot},
		})
		if !slices.ContainsFunc(d.Problems, func(p Problem) bool { return p.Reason == v1alpha1.ReasonVolumeLimit }) || len(d.Create) > 0 {
			t.Errorf("class %v: creates %d, problems %v", named, len(d.Create), d.Problems)
		}
	}
}

// Contract: LIMIT-3.
func TestImportedGroupSnapshotsDoNotCountForTheVolume(t *testing.T) {
	for name, of := range map[string]func(*groupv1.VolumeGroupSnapshot){
		"taken":    func(*groupv1.VolumeGroupSnapshot) {},
		"imported": func(v *groupv1.VolumeGroupSnapshot) { v.Spec.Source.VolumeGroupSnapshotContentName = new("content") },
	} {
		g := group(7*time.Hour, "a", "a")
		of(g.VolumeGroupSnapshot)
		seen := mapcontroller.Observation{Now: noon, MapKey: wholeKey, Outputs: []client.Object{g.VolumeGroupSnapshot}}
		v := volumesOf([]*corev1.PersistentVolumeClaim{claim("a").member().PersistentVolumeClaim}, capacity{perVolume: 1}, seen)[0]
		if want := name == "taken"; v.full() != want {
			t.Errorf("%s: full is %v, want %v", name, v.full(), want)
		}
	}
}

// Whoever may edit a PVC can change, or remove, the annotation that names its driver.
//
// Contract: LIMIT-6.
func TestNothingIsDeletedToMakePlaceByAnEditOfThePVC(t *testing.T) {
	strict := limited(class("strict", "strict.example.com"), "max-per-volume", "2")
	for name, c := range map[string]claimBuilder{
		"no edit":            claim("data").of(testDriver),
		"another driver":     claim("data").of("strict.example.com"),
		"annotation removed": claim("data"),
	} {
		for _, chosen := range []bool{true, false} {
			all := series{ready(30 * time.Hour), erring(20 * time.Hour).since(ago(19 * time.Hour)), ready(7 * time.Hour)}
			for _, v := range all {
				v.under("backup")
				if chosen {
					v.chosen("fast")
				}
			}
			mc := mapCase{schedule: every("6h").ttl("10d").readyDeadline("1h"), claim: c, snapshots: all, classes: classes{class("fast", testDriver), strict}}
			if got := deletesOf(mc.decider(t)(mc.observe())); len(got) > 0 {
				t.Errorf("%s, a class is chosen: %v: deletes %v", name, chosen, got)
			}
		}
	}
}
