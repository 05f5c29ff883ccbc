/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package report

import (
	"cmp"
	"slices"
)

type number interface{ ~int | ~int64 | ~float64 }

// Median is the value in the middle, or between the two in the middle; of none, zero.
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

// Range is the least and the greatest value; of none, zeros.
func Range[N cmp.Ordered](values []N) (least, greatest N) {
	if len(values) == 0 {
		return least, greatest
	}
	return slices.Min(values), slices.Max(values)
}

// Fit is the straight line through some points with the least squares. It needs two different
// x at least; of fewer, both are zero.
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
