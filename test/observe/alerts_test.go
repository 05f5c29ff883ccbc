// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"slices"
	"testing"
)

const (
	hour      = 60 // minutes
	seconds   = 60 // of a minute
	aVeryLong = 10 * hour
)

// takenUntil is the recovery point of a schedule that takes a snapshot each hour, ready
// two minutes later, until a minute.
func takenUntil(last int) values {
	return func(minute int) (float64, bool) {
		return float64(max(0, min(minute, last)-2) / hour * hour * seconds), true
	}
}

// counting goes up by one each hour.
func counting(minute int) (float64, bool) { return float64(minute / hour), true }

// healthy is a schedule with two PVCs that takes snapshots each hour.
func healthy() pod {
	return pod{
		"ready Scheduled":                         always(1),
		"suspended":                               always(0),
		"retention_paused":                        always(0),
		"interval_seconds":                        always(hour * seconds),
		"next_slot_timestamp_seconds":             func(minute int) (float64, bool) { return float64((minute/hour + 1) * hour * seconds), true },
		"oldest_recovery_point_timestamp_seconds": takenUntil(aVeryLong),
		"persistentvolumeclaims":                  always(2),
		"failing_persistentvolumeclaims":          always(0),
		"skipped_persistentvolumeclaims":          always(0),
		"snapshots ready":                         counting,
		"snapshots pending":                       always(0),
		"snapshots failed":                        always(0),
		"snapshots detached":                      always(3),
		"problems":                                always(0),
		"snapshots_created_total":                 counting,
		"snapshots_failed_total":                  always(0),
		"snapshots_deleted_total Expired":         counting,
	}
}

func leads() pod   { return pod{"active": always(1)} }
func standby() pod { return pod{"active": always(0)} }

// one is a story of one operator with one schedule, besides one that stands by.
func one(schedule pod) story {
	return story{"a": {"": leads(), "backup": schedule}, "b": {"": standby()}}
}

// onlyReady is all that is known under an invalid spec, or without VolumeSnapshots.
func onlyReady(from int, reason string) pod {
	return healthy().gone(from).with(pod{"ready " + reason: values(never).then(from, always(0))})
}

func TestAlerts(t *testing.T) {
	oldAt := func(from int, age string) firing {
		return firing{
			alert: "SnapshotScheduleRecoveryPointOld", schedule: "backup", severity: "critical", from: from,
			summary: "shop/backup: the recovery point is older than two intervals",
			description: "If a volume of SnapshotSchedule backup in namespace shop were lost now, the last " + age + " would be " +
				"lost with it: that old is the newest ready snapshot of the PersistentVolumeClaim that is worst off.",
		}
	}
	// The last was taken at 2:00; the slots of 3:00 and 4:00 were missed.
	old := oldAt(4*hour+1+15, "2h 16m 0s")
	failing := func(from, until int) firing {
		return firing{
			alert: "SnapshotScheduleSnapshotsFailing", schedule: "backup", severity: "warning", from: from, until: until,
			summary: "shop/backup: snapshots are failing",
			description: "For PersistentVolumeClaims of SnapshotSchedule backup in namespace shop the create failed, the newest " +
				"snapshot failed, or a snapshot is overdue. status.problems names them and says why.",
		}
	}
	notRunning := func(reason string) firing {
		return firing{
			alert: "SnapshotScheduleNotRunning", schedule: "backup", severity: "critical", from: hour + 15,
			summary: "shop/backup: not running, " + reason,
			description: "SnapshotSchedule backup in namespace shop takes no snapshots and deletes none: condition Ready is " +
				"False for reason " + reason + ". Its message says what to mend.",
		}
	}
	paused := firing{
		alert: "SnapshotScheduleRetentionPaused", schedule: "backup", severity: "warning", from: hour + 15, until: 2 * hour,
		summary: "shop/backup: snapshots should be deleted and are not",
		description: "The clocks of the API server and of the operator differ too much to tell the age of snapshots, so " +
			"SnapshotSchedule backup in namespace shop deletes none. They pile up until the clocks agree.",
	}
	problems := firing{
		alert: "SnapshotScheduleProblems", schedule: "backup", severity: "info", from: 2 * hour,
		summary: "shop/backup: 3 problems",
		description: "SnapshotSchedule backup in namespace shop has 3 problems that do not keep it from taking snapshots. " +
			"status.problems lists them.",
	}
	down := func(from, until int) firing {
		return firing{
			alert: "SnapshotScheduleOperatorDown", severity: "critical", from: from, until: until,
			summary: "No SnapshotSchedule operator is at work",
			description: "No manager that does the work was scraped for five minutes: none runs, none leads, or Prometheus does " +
				"not reach it. No snapshots are taken and none expire, and the other alerts about schedules can not fire.",
		}
	}
	missed := pod{"oldest_recovery_point_timestamp_seconds": takenUntil(2*hour + 2)}

	tests := []struct {
		name  string
		story story
		want  []firing
	}{
		{"all is well", one(healthy()), nil},

		{"two slots are missed", one(healthy().with(missed)), []firing{old}},
		{"two slots are missed while suspended", one(healthy().with(missed).with(pod{
			"ready Scheduled": never, "ready Suspended": always(1), "suspended": always(1), "next_slot_timestamp_seconds": never,
		})), nil},
		{"no PVC matches", one(healthy().with(pod{
			"ready Scheduled": never, "ready NoMatchingClaims": always(1), "persistentvolumeclaims": always(0),
			"oldest_recovery_point_timestamp_seconds": never, "next_slot_timestamp_seconds": never, "snapshots ready": always(0),
		})), nil},
		{"two slots are missed of one schedule of two", story{"a": {
			"": leads(), "backup": healthy().with(missed), "other": healthy(),
		}}, []firing{old}},
		{"slots are missed, and another pod takes the lead", story{
			"a": {"": leads().gone(4*hour + 5), "backup": healthy().with(missed).gone(4*hour + 5)},
			"b": {
				"":       standby().with(pod{"active": always(0).then(4*hour+6, always(1))}),
				"backup": healthy().with(missed).since(4*hour + 7),
			},
			// What is gone for two minutes is pending anew, and would fire later.
		}, []firing{oldAt(4*hour+7+15, "2h 22m 0s")}},
		{"of a cron line nothing is due on weekends", one(healthy().with(pod{
			"interval_seconds": always(3 * 24 * hour * seconds), "oldest_recovery_point_timestamp_seconds": takenUntil(hour),
		})), nil},

		{"a PVC fails for two hours", one(healthy().with(pod{
			"failing_persistentvolumeclaims": always(0).then(hour, always(1)).then(3*hour, always(0)),
			"problems":                       always(0).then(hour, always(1)).then(3*hour, always(0)),
			"ready Scheduled":                always(1).then(hour, never).then(3*hour, always(1)),
			"ready SnapshotsFailing":         values(never).then(hour, always(0)).then(3*hour, never),
		})), []firing{failing(hour+15, 3*hour)}},
		{"a create fails for ten minutes", one(healthy().with(pod{
			"failing_persistentvolumeclaims": always(0).then(hour, always(1)).then(hour+10, always(0)),
		})), nil},
		{"snapshots fail just when the next is due, and are replaced at once", one(healthy().with(pod{
			"snapshots_failed_total": counting,
		})), []firing{failing(2*hour+45, 0)}},
		{"the same, and the schedule is deleted", one(healthy().with(pod{
			"snapshots_failed_total": counting,
		}).gone(4 * hour)), []firing{failing(2*hour+45, 4*hour)}},
		{"a snapshot fails, and the one that replaces it does not", one(healthy().with(pod{
			"snapshots_failed_total": always(0).then(hour, always(1)),
		})), nil},

		{"the spec is invalid", one(onlyReady(hour, "InvalidSpec")), []firing{notRunning("InvalidSpec")}},
		{"VolumeSnapshots are not installed", one(onlyReady(hour, "SnapshotAPIMissing")), []firing{notRunning("SnapshotAPIMissing")}},

		{"the clocks differ for an hour", one(healthy().with(pod{
			"retention_paused": always(0).then(hour, always(1)).then(2*hour, always(0)),
		})), []firing{paused}},
		{"an upload is slow", one(healthy().with(pod{"problems": always(0).then(hour, always(3))})), []firing{problems}},

		{"the operator goes, and comes back", story{"a": {
			"":       leads().with(pod{"active": always(1).then(hour, never).then(3*hour, always(1))}),
			"backup": healthy(),
		}}, []firing{down(hour+5, 3*hour)}},
		{"no pod leads", story{"a": {"": standby()}, "b": {"": standby()}}, []firing{down(5, 0)}},
		{"Prometheus reaches none", story{"a": {"": pod{"active": never}}}, []firing{down(5, 0)}},
		{"another pod takes the lead", story{
			"a": {"": leads().gone(2 * hour), "backup": healthy().gone(2 * hour)},
			"b": {"": standby().with(pod{"active": always(0).then(2*hour+2, always(1))}), "backup": healthy().since(2*hour + 3)},
		}, nil},
	}
	fires := map[string]bool{}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.story.play(t, 6*hour)
			for _, f := range got {
				fires[f.alert] = true
				until := "is still firing at the end"
				if f.until > 0 {
					until = "until " + clock(f.until)
				}
				t.Logf("%s at %s, %s (%s)\n    %s\n    %s", f.alert, clock(f.from), until, f.severity, f.summary, f.description)
			}
			if len(got) == 0 {
				t.Log("no alert fires")
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("fired\n%+v\nwant\n%+v", got, tc.want)
			}
		})
	}
	for name := range alertRules(t) {
		if !fires[name] {
			t.Errorf("%s fires in no story", name)
		}
	}
}

func clock(minute int) string { return fmt.Sprintf("%d:%02d", minute/hour, minute%hour) }
