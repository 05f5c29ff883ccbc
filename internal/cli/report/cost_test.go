// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
)

// One tenant's schedules of seconds must not keep the report of a cluster from everybody: what is simulated for a namespace is
// bounded, and says that it is incomplete. Another namespace has the whole work for each series.
func TestAReportIsBoundedForEachNamespace(t *testing.T) {
	const claims = 100
	now := clitest.Start.AddDate(0, 1, 0)
	inv := &view.Inventory{Classes: clitest.AnyClass, Claims: map[string][]client.Object{}, Snapshots: map[string][]client.Object{}}
	greedy := clitest.Schedule("s", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1s", SnapshotTTL: "100y"})
	for i := range claims {
		c := clitest.Claim(fmt.Sprintf("c-%d", i), nil)
		inv.Claims["shop"] = append(inv.Claims["shop"], c)
		inv.Snapshots["shop"] = append(inv.Snapshots["shop"], clitest.Snapshot(greedy, c, now.Add(-time.Minute)))
	}
	all := []*v1alpha1.SnapshotSchedule{}
	for range 10 {
		all = append(all, greedy)
	}
	modest := greedy.DeepCopy()
	modest.Namespace = "bank"
	work := ahead.Shares(inv, append(all, modest), ahead.TenantWork)
	if work["bank"] != ahead.MaxWork || work["shop"]*claims*len(all) > ahead.TenantWork {
		t.Fatalf("work for each series: %v", work)
	}
	var r scheduleReport
	if err := r.lookAhead(greedy, inv, now, work["shop"]); err != nil {
		t.Fatal(err)
	}
	if !r.Incomplete {
		t.Error("the look-ahead does not say that it is incomplete")
	}
}
