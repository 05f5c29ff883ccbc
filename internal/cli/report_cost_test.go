// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// One tenant's schedules of seconds must not keep the report of a cluster from everybody: what is simulated for a namespace is
// bounded, and says that it is incomplete. Another namespace has the whole work for each series.
func TestAReportIsBoundedForEachNamespace(t *testing.T) {
	const claims = 100
	now := start.AddDate(0, 1, 0)
	inv := &inventory{classes: anyClass, claims: map[string][]client.Object{}, snapshots: map[string][]client.Object{}}
	greedy := testSchedule("s", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1s", SnapshotTTL: "100y"})
	for i := range claims {
		c := testClaim(fmt.Sprintf("c-%d", i), nil)
		inv.claims["shop"] = append(inv.claims["shop"], c)
		inv.snapshots["shop"] = append(inv.snapshots["shop"], testSnapshot(greedy, c, now.Add(-time.Minute)))
	}
	all := []*v1alpha1.SnapshotSchedule{}
	for range 10 {
		all = append(all, greedy)
	}
	modest := greedy.DeepCopy()
	modest.Namespace = "bank"
	work := inv.shares(append(all, modest))
	if work["bank"] != maxWork || work["shop"]*claims*len(all) > tenantWork {
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
