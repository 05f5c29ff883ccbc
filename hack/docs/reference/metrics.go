// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"strings"

	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// metricTable returns the table of the operator's metrics.
func metricTable() string {
	rows := [][]string{}
	for _, m := range snapshots.Metrics() {
		var labels []string
		for _, l := range m.Labels {
			labels = append(labels, code(l))
		}
		rows = append(rows, []string{code(m.Name), m.Type, strings.Join(labels, ", "), sentence(m.Help)})
	}
	return markdownTable([]string{"metric", "type", "labels", "meaning"}, rows)
}
