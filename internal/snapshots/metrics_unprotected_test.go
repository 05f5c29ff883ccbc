// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
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
		"excluded":                        {claim: data().with(func(c *corev1.PersistentVolumeClaim) { annotate(c, v1alpha1.AnnotationExclude, "") })},
		"not Bound":                       {claim: data().phase(corev1.ClaimPending)},
		"PVC being deleted":               {claim: data().deleting()},
		"no class":                        {claim: claim("data").of("nfs.example.com")},
		"no class that may be read":       {claim: claim("data").of("nfs.example.com"), unreadable: true, want: shop(1)},
		"in-tree":                         {claim: claim("data").of("kubernetes.io/nfs")},
		"unknown driver":                  {claim: claim("data"), want: shop(1)},
	} {
		var schedules []client.Object
		for _, s := range tc.schedules {
			schedules = append(schedules, s.SnapshotSchedule)
		}
		known := Classes{Known: !tc.unreadable, All: classes{class("fast", testDriver)}}
		if got := countUnprotected([]client.Object{tc.claim.PersistentVolumeClaim}, schedules, known); !maps.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
