// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import "slices"

type number interface{ ~int | ~int64 | ~float64 }

// Median returns the median, or zero without values.
func Median[N number](values []N) N {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Fit returns the least-squares line through some points. With fewer than two different x, both results are
// zero.
func Fit(x, y []float64) (slope, intercept float64) {
	n := float64(min(len(x), len(y)))
	var sumX, sumY, sumXX, sumXY float64
	for i := range int(n) {
		sumX += x[i]
		sumY += y[i]
		sumXX += x[i] * x[i]
		sumXY += x[i] * y[i]
	}
	spread := n*sumXX - sumX*sumX
	if n < 2 || spread == 0 {
		return 0, 0
	}
	slope = (n*sumXY - sumX*sumY) / spread
	return slope, (sumY - slope*sumX) / n
}
