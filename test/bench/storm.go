// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/storm"
)

// stormLimit is the limit of snapshots in flight in a storm: those that a stack at its
// default rate cuts in a quarter of a minute.
const stormLimit = 10

// stormDeadline is the readyDeadline of a storm.
const stormDeadline = 10 * time.Minute

// storms lets PVCs fall due at once, without a limit and with one.
func storms(ctx context.Context, b *bench, _ *server.Server) error {
	dir, err := os.MkdirTemp("", "snapsched-storm-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var both []storm.Outcome
	for _, limit := range []int{0, stormLimit} {
		b.progressf("%d PVCs, --max-in-flight-per-driver=%d", b.storm, limit)
		o, err := storm.Run(ctx, b.root, storm.Job{
			Operator: b.operator, Limit: limit, Claims: b.storm, ReadyDeadline: stormDeadline, Dir: dir,
		})
		if err != nil {
			return err
		}
		both = append(both, o)
	}
	b.stormRows(both[0], both[1])
	return nil
}

func (b *bench) stormRows(free, limited storm.Outcome) {
	what := fmt.Sprintf("storm of %d PVCs, at most %d in flight", limited.Claims, limited.Limit)
	b.row(report.Row{
		What: what + ": snapshots that miss a readyDeadline of " + stormDeadline.String(), Measured: strconv.Itoa(limited.Missed),
		Values: map[string]float64{"missed": float64(limited.Missed), "missedWithoutLimit": float64(free.Missed)},
	}.Exactly(float64(limited.Missed), 0, "0"))
	ratio := limited.Took.Seconds() / free.Took.Seconds()
	b.row(report.Row{
		What: "the same: until all are cut, compared with no limit", Measured: seconds(limited.Took), Ratio: fmt.Sprintf("%.2f ×", ratio),
		Values: map[string]float64{"seconds": limited.Took.Seconds(), "secondsWithoutLimit": free.Took.Seconds()},
	}.AtMost(ratio, 1.05, "1.05 ×"))
	b.row(report.Row{
		What: "the same: a PVC of another namespace falls due, until its snapshot is created", Measured: seconds(limited.TenantCreated),
		Values: map[string]float64{"seconds": limited.TenantCreated.Seconds()},
	}.AtMost(limited.TenantCreated.Seconds(), 5, "5 s"))
	t := report.Table{
		Title: "A storm on a snapshot stack at its default rate",
		Header: []string{
			"limit", "PVCs", "cut per second", "most in flight", "longest uncut", "missed readyDeadline", "until all are cut",
			"another namespace's PVC: created", "cut",
		},
	}
	for _, o := range []storm.Outcome{free, limited} {
		limit := "none"
		if o.Limit > 0 {
			limit = strconv.Itoa(o.Limit)
		}
		t.Rows = append(t.Rows, []string{
			limit, strconv.Itoa(o.Claims), fmt.Sprintf("%.2f", o.Rate()), strconv.Itoa(o.MostInFlight), seconds(o.Longest),
			strconv.Itoa(o.Missed), seconds(o.Took), seconds(o.TenantCreated), seconds(o.TenantCut),
		})
	}
	b.detail(t)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
