// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"

	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
)

func TestReportPageShowsTheProblemsOfAClusterSnapshotSchedule(t *testing.T) {
	fleet := fleetReport{Name: "nightly", Problems: []view.Problem{{Reason: "NameTaken", Message: "shop: not ours\x1b[2J"}}}
	r := &fullReport{Time: *term.TimeOf(clitest.Start), Clusters: []clusterReport{{Fleets: []fleetReport{fleet}, Coverage: &protection.Coverage{}}}}
	var page bytes.Buffer
	if err := r.writePage(&page); err != nil || !strings.Contains(page.String(), `<td>NameTaken: shop: not ours\u001b[2J<br></td>`) {
		t.Errorf("%v, page without the problem: %s", err, page.String())
	}
}
