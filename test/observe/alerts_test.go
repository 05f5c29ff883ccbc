// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	hour    = 60 // minutes
	seconds = 60 // of a minute
	forever = 10 * hour
)

// recoveryPointUntil is the recovery point of a schedule that takes a snapshot every hour until a minute. Snapshots are ready after
// two minutes.
func recoveryPointUntil(last int) samples {
	return func(minute int) (float64, bool) {
		return float64(max(0, min(minute, last)-2) / hour * hour * seconds), true
	}
}

// hourlyCount increases by one every hour.
func hourlyCount(minute int) (float64, bool) { return float64(minute / hour), true }

// workers is a metric of controller-runtime.
const workers = "workqueue_longest_running_processor_seconds"

// busySince is a worker that hangs from a minute on.
func busySince(from int) samples {
	return func(minute int) (float64, bool) { return float64(max(0, minute-from) * seconds), true }
}

// healthy is a schedule with two PVCs that takes a snapshot every hour.
func healthy() pod {
	return pod{
		"ready Scheduled":                         always(1),
		"protected RecoveryPointsCurrent":         always(1),
		"suspended":                               always(0),
		"retention_paused":                        always(0),
		"interval_seconds":                        always(hour * seconds),
		"next_slot_timestamp_seconds":             func(minute int) (float64, bool) { return float64((minute/hour + 1) * hour * seconds), true },
		"oldest_recovery_point_timestamp_seconds": recoveryPointUntil(forever),
		"persistentvolumeclaims":                  always(2),
		"failing_persistentvolumeclaims":          always(0),
		"skipped_persistentvolumeclaims":          always(0),
		"snapshots ready":                         hourlyCount,
		"snapshots pending":                       always(0),
		"snapshots failed":                        always(0),
		"snapshots detached":                      always(3),
		"snapshots terminating":                   always(0),
		"stuck_deletions":                         always(0),
		"problems":                                always(0),
		"snapshots_created_total":                 hourlyCount,
		"snapshots_failed_total":                  always(0),
		"snapshots_deleted_total Expired":         hourlyCount,
		"snapshots_retained_in_storage_total":     always(0),
	}
}

func leading() pod { return pod{"active": always(1), "build_info v1.2.3": always(1)} }
func standby() pod { return pod{"active": always(0), "build_info v1.2.3": always(1)} }

// oneOperator is a scenario with one schedule, a leading operator and one on standby.
func oneOperator(schedule pod) scenario {
	return scenario{"a": {"": leading(), "backup": schedule}, "b": {"": standby()}}
}

// withOnlyReady is a schedule whose other metrics become absent: its spec is invalid, or the VolumeSnapshot CRD is missing.
func withOnlyReady(from int, reason string) pod {
	return healthy().absentFrom(from).with(pod{"ready " + reason: samples(never).then(from, always(0))})
}

func TestAlerts(t *testing.T) {
	// When an alert fires, its severity, name and summary, and after a bar what its description says.
	// The last snapshot was taken at 2:00. The slots of 3:00 and 4:00 were missed.
	const (
		old             = "critical RecoveryPointOld: shop/backup: not protected | for 2h 16m 0s"
		failing         = "warning SnapshotsFailing: shop/backup: snapshots are failing"
		suspended       = "warning Suspended: shop/backup: suspended"
		clusterNotReady = "warning ClusterNotReady: gold: not ready, SchedulesFailing"
		down            = "critical OperatorDown: no SnapshotSchedule operator is active"
	)
	missed := pod{
		"oldest_recovery_point_timestamp_seconds": recoveryPointUntil(2*hour + 2),
		"protected RecoveryPointsCurrent":         always(1).then(4*hour+1, never), "protected RecoveryPointsOld": samples(never).then(4*hour+1, always(0)),
	}
	fleetMissed := pod{
		"cluster_protected RecoveryPointsCurrent": always(1).then(4*hour+1, never),
		"cluster_protected RecoveryPointsOld":     samples(never).then(4*hour+1, always(0)),
	}
	suspendedAt := func(from int) pod {
		return pod{"ready Scheduled": always(1).then(from, never), "ready Suspended": samples(never).then(from, always(1)),
			"suspended": always(0).then(from, always(1)), "next_slot_timestamp_seconds": never}
	}

	matchesNothing := pod{
		"ready Scheduled": never, "ready NoMatchingClaims": always(1), "persistentvolumeclaims": always(2).then(hour, always(0)),
		"oldest_recovery_point_timestamp_seconds": never, "next_slot_timestamp_seconds": never, "snapshots ready": always(0),
	}
	cannot := pod{
		"protected RecoveryPointsCurrent": never, "protected NotSnapshottable": samples(never).then(hour, always(0)),
		"skipped_persistentvolumeclaims": always(2), "oldest_recovery_point_timestamp_seconds": never, "snapshots ready": always(0),
	}
	tests := []struct {
		name     string
		scenario scenario
		want     []string
	}{
		{"a healthy schedule", oneOperator(healthy()), nil},

		{"two slots are missed", oneOperator(healthy().with(missed)), []string{"4:16–end " + old}},
		{"an upload is slow, and the recovery point old, but not that of the last slot but one", oneOperator(healthy().with(pod{
			"oldest_recovery_point_timestamp_seconds": recoveryPointUntil(2*hour + 2),
		})), nil},
		{"the first snapshots are pending", oneOperator(healthy().with(pod{
			"protected RecoveryPointsCurrent": never, "oldest_recovery_point_timestamp_seconds": always(0),
		})), nil},
		{"no PVC matches", oneOperator(healthy().with(matchesNothing)), []string{"2:00–end warning MatchesNothing: shop/backup: protects nothing"}},
		{"no PVC matches for half an hour", oneOperator(healthy().with(pod{
			"persistentvolumeclaims": always(2).then(hour, always(0)).then(hour+30, always(2)),
		})), nil},
		{"no PVC matches, and the schedule is suspended", oneOperator(healthy().with(matchesNothing).with(pod{"suspended": always(1)})), nil},
		{"no PVC matches, in a namespace of a fleet", oneOperator(healthy().with(matchesNothing).with(pod{
			"suspended": never, "suspended gold": always(0),
		})), nil},
		{"no PVC can be snapshotted", oneOperator(healthy().with(cannot)), []string{"2:00–end warning MatchesNothing: shop/backup: protects nothing"}},
		{"no PVC can be snapshotted, in a namespace of a fleet", oneOperator(healthy().with(cannot).with(pod{
			"suspended": never, "suspended gold": always(0),
		})), []string{"2:00–end warning MatchesNothing: shop/backup: protects nothing"}},
		{"no PVC is bound yet", oneOperator(healthy().with(cannot).with(pod{"protected NotSnapshottable": never})), nil},

		{"suspended, and forgotten", oneOperator(healthy().with(missed).with(suspendedAt(2*hour + 5))), []string{"5:01–end " + suspended}},
		{"suspended, and snapshots are requested", oneOperator(healthy().with(suspendedAt(2 * hour))), nil},
		{"suspended by a fleet", oneOperator(healthy().with(missed).with(suspendedAt(2 * hour)).with(pod{
			"suspended": never, "suspended gold": always(0).then(2*hour, always(1)),
		})), nil},
		{"suspended for a while too long", oneOperator(healthy().with(missed).with(suspendedAt(2 * hour)).with(pod{
			"suspended":                   always(0).then(2*hour, always(1)).then(4*hour+55, always(0)),
			"protected RecoveryPointsOld": samples(never).then(4*hour+1, always(0)).then(5*hour, never),
		})), nil},

		{"PVCs that no schedule selects", scenario{"a": {
			"": leading().with(pod{"unprotected_persistentvolumeclaims": always(0).then(hour, always(3)).then(3*hour, always(0))}), "backup": healthy(),
		}}, []string{"2:00–3:00 info Unprotected: shop: 3 PersistentVolumeClaims | In namespace shop, 3 "}},
		{"one of two schedules misses two slots", scenario{"a": {
			"": leading(), "backup": healthy().with(missed), "other": healthy(),
		}}, []string{"4:16–end " + old}},
		{"slots are missed, and another pod becomes the leader", scenario{
			"a": {"": leading().absentFrom(4*hour + 5), "backup": healthy().with(missed).absentFrom(4*hour + 5)},
			"b": {
				"":       standby().with(pod{"active": always(0).then(4*hour+6, always(1))}),
				"backup": healthy().with(missed).absentUntil(4*hour + 7),
			},
			// After two minutes without samples, the alert is pending again.
		}, []string{"4:22–end critical RecoveryPointOld: shop/backup: not protected | for 2h 22m 0s"}},
		{"a cron line without slots on the weekend", oneOperator(healthy().with(pod{
			"interval_seconds": always(3 * 24 * hour * seconds), "oldest_recovery_point_timestamp_seconds": recoveryPointUntil(hour),
		})), nil},

		{"a PVC fails for two hours", oneOperator(healthy().with(pod{
			"failing_persistentvolumeclaims": always(0).then(hour, always(1)).then(3*hour, always(0)),
			"problems":                       always(0).then(hour, always(1)).then(3*hour, always(0)),
			"ready Scheduled":                always(1).then(hour, never).then(3*hour, always(1)),
			"ready SnapshotsFailing":         samples(never).then(hour, always(0)).then(3*hour, never),
		})), []string{"1:15–3:00 " + failing}},
		{"a create fails for ten minutes", oneOperator(healthy().with(pod{
			"failing_persistentvolumeclaims": always(0).then(hour, always(1)).then(hour+10, always(0)),
		})), nil},
		{"every snapshot fails when the next is due, and is replaced at once", oneOperator(healthy().with(pod{
			"snapshots_failed_total": hourlyCount,
		})), []string{"2:45–end " + failing}},
		{"every snapshot fails, and the schedule is deleted", oneOperator(healthy().with(pod{
			"snapshots_failed_total": hourlyCount,
		}).absentFrom(4 * hour)), []string{"2:45–4:00 " + failing}},
		{"one snapshot fails, and its replacement succeeds", oneOperator(healthy().with(pod{
			"snapshots_failed_total": always(0).then(hour, always(1)),
		})), nil},

		{"the spec is invalid", oneOperator(withOnlyReady(hour, "InvalidSpec")), []string{
			"1:15–end critical NotRunning: shop/backup: not running, InvalidSpec | with reason InvalidSpec;"}},
		{"the VolumeSnapshot CRD is not installed", oneOperator(withOnlyReady(hour, "SnapshotAPIMissing")), []string{
			"1:15–end critical NotRunning: shop/backup: not running, SnapshotAPIMissing | with reason SnapshotAPIMissing;"}},

		{"a webhook refuses deletes for an hour", oneOperator(healthy().with(pod{
			"ready Scheduled":        always(1).then(hour, never).then(2*hour, always(1)),
			"ready RetentionFailing": samples(never).then(hour, always(0)).then(2*hour, never),
		})), []string{"1:15–2:00 warning RetentionFailing: shop/backup: snapshots cannot be deleted"}},
		{"the storage does not finish deletes for an hour", oneOperator(healthy().with(pod{
			"stuck_deletions": always(0).then(hour, always(7)).then(2*hour, always(0)),
		})), []string{"1:15–2:00 warning DeletionStuck: shop/backup: the storage does not delete snapshots | deletion of 7 snapshots"}},
		{"PVCs wait for a driver for three hours", scenario{"a": {"": leading().with(pod{
			"waiting_persistentvolumeclaims csi.example.com": always(0).then(hour, always(4)).then(4*hour, always(0)),
			"waiting_persistentvolumeclaims (other)":         always(0),
		}), "backup": healthy()}}, []string{"2:00–4:00 warning Waiting: driver csi.example.com: 4 PersistentVolumeClaims wait | now there are 4"}},
		{"PVCs wait for a driver for most of every hour", scenario{"a": {"": leading().with(pod{
			"waiting_persistentvolumeclaims csi.example.com": func(minute int) (float64, bool) { return float64(max(0, 50-minute%hour)), true },
		}), "backup": healthy()}}, nil},
		{"PVCs of each of two clusters wait for half an hour in turn", scenario{
			"east/a": {"": leading().with(pod{"waiting_persistentvolumeclaims csi.example.com": always(3).then(hour/2, always(0))}), "backup": healthy()},
			"west/a": {"": leading().with(pod{"waiting_persistentvolumeclaims csi.example.com": always(0).then(hour/2, always(3)).then(hour, always(0))}), "backup": healthy()},
		}, nil},
		{"the storage retains the data of deleted snapshots", scenario{"a": {"": leading(), "other": healthy(),
			"backup": healthy().with(pod{"snapshots_retained_in_storage_total": hourlyCount}),
		}}, []string{"2:00–end info DataRetained: shop/backup: deleted snapshots stay in the storage"}},
		{"the storage retains the data of deleted snapshots, and the schedule is deleted", scenario{"a": {"": leading(),
			"backup": healthy().with(pod{"snapshots_retained_in_storage_total": hourlyCount}).absentFrom(3 * hour),
		}}, []string{"2:00–3:00 info DataRetained: shop/backup"}},
		{"the clocks differ for an hour", oneOperator(healthy().with(pod{
			"retention_paused": always(0).then(hour, always(1)).then(2*hour, always(0)),
		})), []string{"1:15–2:00 warning RetentionPaused: shop/backup: expired snapshots are not deleted"}},
		{"an upload is slow", oneOperator(healthy().with(pod{"problems": always(0).then(hour, always(3))})), []string{
			"2:00–end info Problems: shop/backup: 3 problems | has 3 problems"}},

		{"drills have stopped", oneOperator(healthy().with(pod{
			"oldest_verified_timestamp_seconds": always((hour-35*24*hour)*seconds-1).then(5*hour, always(0)),
		})), []string{"2:00–5:00 warning VerificationOld: shop/backup: no successful drill for 35d 1h 0m 1s | was 35d 1h 0m 1s ago"}},
		{"drills never ran, or succeed", scenario{"a": {
			"": leading(), "backup": healthy(), "other": healthy().with(pod{"oldest_verified_timestamp_seconds": always(-34 * 24 * hour * seconds)}),
		}}, nil},

		{"a ClusterSnapshotSchedule is not ready for an hour", scenario{"a": {"": leading().with(pod{
			"cluster_ready Scheduled":        always(1).then(hour, never).then(2*hour, always(1)),
			"cluster_ready SchedulesFailing": samples(never).then(hour, always(0)).then(2*hour, never),
		}), "backup": healthy()}}, []string{"1:15–2:00 " + clusterNotReady}},
		{"a ClusterSnapshotSchedule is not ready for ten minutes", scenario{"a": {"": leading().with(pod{
			"cluster_ready SchedulesFailing": samples(never).then(hour, always(0)).then(hour+10, never),
		}), "backup": healthy()}}, nil},

		{"a ClusterSnapshotSchedule is suspended, and forgotten", scenario{"a": {
			"":       leading().with(fleetMissed),
			"backup": healthy().with(missed).with(suspendedAt(2*hour + 5)).with(pod{"suspended": never, "suspended gold": always(0).then(2*hour+5, always(1))}),
		}}, []string{"5:01–end warning ClusterSuspended: gold: suspended, and not protected | of ClusterSnapshotSchedule gold are suspended"}},
		{"a ClusterSnapshotSchedule leaves a namespace, and misses slots in another", scenario{"a": {
			"":       leading().with(fleetMissed),
			"other":  healthy().with(pod{"suspended": never, "suspended gold": always(1)}),
			"backup": healthy().with(missed).with(pod{"suspended": never, "suspended gold": always(0)}),
		}}, []string{"4:16–end " + old}},

		{"a worker hangs until its pod is deleted, and others are busy", scenario{
			"a": {"": leading().with(pod{
				workers + " snapshotschedule": busySince(hour), workers + " clustersnapshotschedule-status": always(599), workers + " other": busySince(0),
			}).absentFrom(2 * hour), "backup": healthy().absentFrom(2 * hour)},
			"b": {"": standby().with(pod{"active": always(0).then(2*hour+2, always(1)), workers + " snapshotschedule": always(0)}), "backup": healthy().absentUntil(2*hour + 3)},
		}, []string{"1:16–2:00 critical OperatorHangs: the SnapshotSchedule operator hangs | controller snapshotschedule in pod a has been busy with one object for 16m"}},
		{"the operator stops, and starts again", scenario{"a": {
			"":       leading().with(pod{"active": always(1).then(hour, never).then(3*hour, always(1))}),
			"backup": healthy(),
		}}, []string{"1:05–3:00 " + down}},
		{"no pod leads", scenario{"a": {"": standby()}, "b": {"": standby()}}, []string{"0:05–end " + down}},
		{"Prometheus reaches no pod", scenario{"a": {"": pod{"active": never}}}, []string{"0:05–end " + down}},
		{"one of two clusters stops", scenario{
			"east/a": {"": leading().absentFrom(2 * hour), "backup": healthy().absentFrom(2 * hour)},
			"west/a": {"": leading(), "backup": healthy()},
		}, []string{"2:05–end " + strings.Replace(down, ": ", ": east: ", 1)}},
		{"in one of two clusters, the schedule of a name misses slots, and its fleet is not ready", scenario{
			"east/a": {"": leading().with(pod{"cluster_ready Scheduled": always(1)}), "backup": healthy()},
			"west/a": {"": leading().with(pod{
				"cluster_ready SchedulesFailing": samples(never).then(hour, always(0)).then(2*hour, never),
			}), "backup": healthy().with(missed)},
		}, []string{
			"1:15–2:00 " + strings.Replace(clusterNotReady, ": ", ": west: ", 1), "4:16–end " + strings.Replace(old, ": ", ": west: ", 1)}},
		{"another pod becomes the leader", scenario{
			"a": {"": leading().absentFrom(2 * hour), "backup": healthy().absentFrom(2 * hour)},
			"b": {"": standby().with(pod{"active": always(0).then(2*hour+2, always(1))}), "backup": healthy().absentUntil(2*hour + 3)},
		}, nil},
	}
	all := ""
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.scenario.evaluate(t, 6*hour)
			text := strings.Join(got, "\n")
			all += text + "\n"
			t.Log(text)
			if !slices.EqualFunc(tc.want, got, isAlert) {
				t.Errorf("fired\n%s\nwant\n%s", text, strings.Join(tc.want, "\n"))
			}
		})
	}
	for name := range alertRules(t) {
		if !strings.Contains(all, strings.TrimPrefix(name, alertPrefix)+": ") {
			t.Errorf("%s fires in no scenario", name)
		}
	}
}

// isAlert returns whether an alert begins with what is wanted, and its description contains what is wanted of that.
func isAlert(want, got string) bool {
	want, says, _ := strings.Cut(want, " | ")
	got, description, _ := strings.Cut(got, " | ")
	return strings.HasPrefix(got, want) && strings.Contains(description, says)
}

func clock(minute int) string { return fmt.Sprintf("%d:%02d", minute/hour, minute%hour) }
