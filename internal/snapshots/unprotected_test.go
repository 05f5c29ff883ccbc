// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"maps"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Contract: MET-3.
func TestCountUnprotected(t *testing.T) {
	data := func() claimBuilder { return claim("data").of(testDriver) }
	shop := func(n int) map[string]int { return map[string]int{"shop": n} }
	invalid := cron("0 0 30 2 *", "")
	leaving := every("6h")
	markDeleting(leaving)
	elsewhere := every("6h")
	elsewhere.Namespace = "bank"
	for name, tc := range map[string]struct {
		claim      claimBuilder
		schedules  []scheduleBuilder
		unreadable bool
		want       map[string]int
	}{
		"selected":                        {claim: data(), schedules: []scheduleBuilder{every("6h")}, want: shop(0)},
		"no schedule":                     {claim: data(), want: shop(1)},
		"a schedule selects others":       {claim: data(), schedules: []scheduleBuilder{every("6h").selecting("bank")}, want: shop(1)},
		"a schedule of another namespace": {claim: data(), schedules: []scheduleBuilder{elsewhere}, want: shop(1)},
		"suspended":                       {claim: data(), schedules: []scheduleBuilder{every("6h").suspended()}, want: shop(1)},
		"invalid":                         {claim: data(), schedules: []scheduleBuilder{invalid}, want: shop(1)},
		"being deleted":                   {claim: data(), schedules: []scheduleBuilder{leaving}, want: shop(1)},
		"one of two":                      {claim: data(), schedules: []scheduleBuilder{invalid, every("6h")}, want: shop(0)},
		"controlled by the schedule":      {claim: data().controlledBy(every("6h")), schedules: []scheduleBuilder{every("6h")}, want: shop(1)},
		"excluded":                        {claim: data().with(leftOut(""))},
		"left out by a rollback":          {claim: data().with(leftOut("rollback 0123abcd")), schedules: []scheduleBuilder{every("6h")}, want: shop(1)},
		"not Bound":                       {claim: data().phase(corev1.ClaimPending)},
		"PVC being deleted":               {claim: data().deleting()},
		"no class":                        {claim: claim("data").of("nfs.example.com")},
		"no class that may be read":       {claim: claim("data").of("nfs.example.com"), unreadable: true, want: shop(1)},
		"in-tree":                         {claim: claim("data").of("kubernetes.io/nfs")},
		"unknown driver":                  {claim: claim("data"), want: shop(1)},
	} {
		u, _ := unprotectedOf(t, tc.schedules, tc.claim)
		u.classesKnown = !tc.unreadable
		if got := u.count(time.Hour); !maps.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

// leftOut sets the annotation exclude.
func leftOut(value string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { annotate(c, v1alpha1.AnnotationExclude, value) }
}

// unprotectedOf returns a counter over some schedules and PVCs, at noon.
func unprotectedOf(tb testing.TB, schedules []scheduleBuilder, claims ...claimBuilder) (u *unprotectedCounter, ofSchedules toolscache.Indexer) {
	tb.Helper()
	stores := NewStores()
	store := func(example client.Object) toolscache.Indexer {
		indexer := toolscache.NewIndexer(toolscache.DeletionHandlingMetaNamespaceKeyFunc, toolscache.Indexers{})
		stores.Add(example, indexer)
		return indexer
	}
	ofSchedules = store(&v1alpha1.SnapshotSchedule{})
	for _, s := range schedules {
		must(tb, ofSchedules.Add(s.SnapshotSchedule))
	}
	all := store(&corev1.PersistentVolumeClaim{})
	for _, c := range claims {
		must(tb, all.Add(c.PersistentVolumeClaim))
	}
	must(tb, store(&snapshotv1.VolumeSnapshotClass{}).Add(class("fast", testDriver)))
	u = &unprotectedCounter{clock: clocktesting.NewFakePassiveClock(noon), stores: stores, classesKnown: true}
	compiled := map[client.Object]any{} // as the engine does, once
	u.spec = func(name types.NamespacedName) any {
		s, _ := stores.Get(anySchedule, name).(*v1alpha1.SnapshotSchedule)
		if _, known := compiled[s]; !known {
			if p, err := newProgram(s, origin{}, true); err == nil {
				compiled[s] = p
			}
		}
		return compiled[s]
	}
	return u, ofSchedules
}

// Contract: MET-7.
func TestUnprotectedIsCountedAtMostOnceInThirtySeconds(t *testing.T) {
	first, second := every("6h").named("first").selecting("x"), every("6h").named("second").selecting("y")
	u, schedules := unprotectedOf(t, []scheduleBuilder{first, second, cron("0 0 30 2 *", "").named("invalid")}, claim("data").of(testDriver))
	clock := u.clock.(*clocktesting.FakePassiveClock)
	check := func(what string, want int) {
		t.Helper()
		if got := u.count(time.Hour); got["shop"] != want {
			t.Errorf("%s: %v, want %d", what, got, want)
		}
	}
	check("at first", 1)

	must(t, schedules.Update(every("6h").named("second").SnapshotSchedule))
	clock.SetTime(noon.Add(unprotectedEvery - time.Second))
	check("29 s later", 1)
	clock.SetTime(noon.Add(unprotectedEvery))
	check("30 s later", 0)
	clock.SetTime(noon.Add(2 * unprotectedEvery))
	check("nothing has changed", 0)
	clock.SetTime(noon)
	check("the clock was set back", 0)
}

// Contract: MET-7.
func TestScrapeDoesNotWaitForALongCount(t *testing.T) {
	u, schedules := unprotectedOf(t, []scheduleBuilder{every("6h").selecting("x")}, claim("data").of(testDriver))
	clock := u.clock.(*clocktesting.FakePassiveClock)
	if got := u.count(time.Hour); got["shop"] != 1 {
		t.Fatalf("at first %v", got)
	}
	blocked, counted, spec := make(chan struct{}), 0, u.spec
	u.spec = func(name types.NamespacedName) any {
		<-blocked
		counted++
		clock.SetTime(clock.Now().Add(time.Minute))
		return spec(name)
	}
	must(t, schedules.Update(every("6h").SnapshotSchedule))
	clock.SetTime(noon.Add(unprotectedEvery))
	for range 3 {
		if got := u.count(time.Millisecond); got["shop"] != 1 {
			t.Errorf("while it counts %v, want the last count", got)
		}
	}
	close(blocked)
	if got := u.count(time.Hour); got["shop"] != 0 || counted != 1 {
		t.Errorf("then %v, %d schedules were read", got, counted)
	}

	must(t, schedules.Update(every("6h").selecting("x").SnapshotSchedule))
	ended := clock.Now()
	clock.SetTime(ended.Add(10*time.Minute - time.Second))
	if got := u.count(time.Hour); got["shop"] != 0 {
		t.Errorf("it took a minute, and is counted again within ten: %v", got)
	}
	clock.SetTime(ended.Add(10 * time.Minute))
	if got := u.count(time.Hour); got["shop"] != 1 {
		t.Errorf("ten minutes later %v", got)
	}
}

// BenchmarkUnprotected is a scrape over 100 schedules, none of which selects any of the
// 500 PVCs of their namespace: one after 30 s, and the others.
func BenchmarkUnprotected(b *testing.B) {
	for name, schedule := range map[string]func(i int) scheduleBuilder{
		"ordinary": func(i int) scheduleBuilder {
			return cron("30 2 * * *", "Europe/Oslo").named(fmt.Sprint(i)).selecting("other")
		},
		"largest": func(i int) scheduleBuilder {
			s := largest(i)
			s.Spec.Selector.MatchLabels["app"] = "other"
			return s
		},
	} {
		var schedules []scheduleBuilder
		for i := range 100 {
			schedules = append(schedules, schedule(i))
		}
		var claims []claimBuilder
		for i := range 500 {
			c := claim(fmt.Sprint(i)).of(testDriver)
			c.Labels = map[string]string{}
			for key, value := range labelsAtTheBound() {
				c.Labels[key] = string(value)
			}
			claims = append(claims, c)
		}
		u, _ := unprotectedOf(b, schedules, claims...)
		count := func(b *testing.B) {
			if got := u.count(time.Hour); got["shop"] != len(claims) {
				b.Fatalf("%v", got)
			}
		}
		b.Run(name+"/after 30s", func(b *testing.B) {
			for b.Loop() {
				u.counts = nil
				count(b)
			}
		})
		b.Run(name+"/others", func(b *testing.B) {
			for b.Loop() {
				count(b)
			}
		})
	}
}
