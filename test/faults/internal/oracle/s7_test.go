// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

func TestS7(t *testing.T) {
	after := func(wait time.Duration, change func(*v1alpha1.SnapshotSchedule)) func() *script {
		return expired().when(func(s *script) {
			s.editSchedule(change)
			s.wait(wait)
			s.guardedDelete("old", "new")
		})
	}
	invalid := func(change func(*v1alpha1.SnapshotScheduleSpec)) func() *script {
		return after(time.Minute, func(o *v1alpha1.SnapshotSchedule) { change(&o.Spec) })
	}
	cron := func(line v1alpha1.CronLine) func() *script {
		return invalid(func(o *v1alpha1.SnapshotScheduleSpec) { o.SnapshotInterval, o.Schedule = "", line })
	}
	deleting := func(o *v1alpha1.SnapshotSchedule) { o.DeletionTimestamp = &metav1.Time{Time: noon} }
	judge(t, S7, []testCase{
		{"under a valid spec", invalid(func(o *v1alpha1.SnapshotScheduleSpec) { o.Jitter = "5h" }), ""},
		{"with a jitter that is too long", invalid(func(o *v1alpha1.SnapshotScheduleSpec) { o.Jitter = "6h" }), "jitter"},
		{"a moment after the spec became invalid", after(time.Second, func(o *v1alpha1.SnapshotSchedule) { o.Spec.Jitter = "6h" }), ""},
		{"in an unknown zone", invalid(func(o *v1alpha1.SnapshotScheduleSpec) { o.TimeZone = "Europe/Atlantis" }), "invalid spec"},
		{"on 30 February", cron("0 0 30 2 *"), "never fires"},
		{"on 30 February or Mondays", cron("0 0 30 2 MON"), ""},
		{"on 29 February", cron("0 0 29 2 *"), ""},
		{"in a range from end to beginning", cron("0 9-3 * * *"), "not within"},
		{"without interval and schedule", cron(""), "exactly one"},
		{"in milliseconds", invalid(func(o *v1alpha1.SnapshotScheduleSpec) { o.SnapshotTTL = "500ms" }), "invalid spec"},
		{"while the schedule is being deleted", after(time.Minute, deleting), "being deleted"},
		{"a moment after the schedule was deleted", after(time.Second, deleting), ""},
		{"after the schedule is gone", expired().when(func(s *script) {
			s.gone("snapshotschedules/every")
			s.wait(time.Minute)
			s.guardedDelete("old", "new")
		}), "was gone"},
		{"a schedule that is being deleted releases", expired().when(func(s *script) {
			s.editSchedule(deleting)
			s.wait(time.Minute)
			patches(s, "volumesnapshots/old", func(o *snapshotv1.VolumeSnapshot) { o.OwnerReferences = nil })
		}), ""},
		{"before the caches synced", expired().when(func(s *script) {
			s.window(history.Unsynced, noon, s.now.Add(time.Second), "")
			s.guardedDelete("old", "new")
		}), "had not synced"},
		{"after the caches synced", expired().when(func(s *script) {
			s.window(history.Unsynced, noon, s.now, "")
			s.guardedDelete("old", "new")
		}), ""},
		{"while another process's caches are empty", expired().when(func(s *script) {
			s.window(history.Unsynced, noon, s.now.Add(time.Second), "")
			s.Windows[0].Process = 1
			s.guardedDelete("old", "new")
		}), ""},
		{"shown a Date that is an hour ahead", expired().when(func(s *script) {
			s.dates = time.Hour
			s.guardedDelete("old", "new")
		}), "1h0m0s apart"},
		{"with a clock that is ten years behind", expired().when(func(s *script) {
			s.ahead = -10 * 365 * day
			s.guardedDelete("old", "new")
		}), "apart"},
		{"with the largest allowed skew", expired().when(func(s *script) {
			s.ahead = -time.Minute
			s.guardedDelete("old", "new")
		}), ""},
		{"with a clock that was corrected", expired().when(func(s *script) {
			s.dates = time.Hour
			s.guards("new")
			s.wait(time.Second)
			s.dates = 0
			s.guardedDelete("old", "new")
		}), ""},
		{"without a Date, in a run that took it away", expired().when(func(s *script) {
			s.window(history.Skewed, noon, time.Time{}, "")
			s.guardedDelete("old", "new")
		}), "more than is allowed"},
		{"without a Date, in a run that has just begun", expired().when(func(s *script) {
			s.window(history.Skewed, s.now, time.Time{}, "")
			s.guardedDelete("old", "new")
		}), "more than is allowed"},
		{"a moment after the run set the clock", expired().when(func(s *script) {
			s.guards("new")
			s.wait(time.Second)
			s.window(history.Skewed, s.now, time.Time{}, "")
			s.deletes("old")
		}), ""},
	})
}
