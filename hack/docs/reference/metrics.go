// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"slices"
	"strings"

	"mapcontroller.dev/snapshotschedule/internal/clusterschedules"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// metricTable returns the table of the operator's metrics.
func metricTable() string {
	rows := [][]string{}
	all := append(metrics.New().Described(), clusterschedules.NewMetrics().Described()...)
	slices.SortFunc(all, func(a, b report.Metric) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range all {
		var labels []string
		for _, l := range m.Labels {
			labels = append(labels, code(l))
		}
		rows = append(rows, []string{code(m.Name), m.Type, strings.Join(labels, ", "), sentence(m.Help)})
	}
	return markdownTable([]string{"metric", "type", "labels", "meaning"}, rows)
}
