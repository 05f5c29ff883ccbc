// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{7}, 7},
		{[]float64{9, 1}, 5},
		{[]float64{100, 1, 2}, 2},
		{[]float64{4, 1, 100, 2}, 3},
	} {
		if got := Median(c.values); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
	if got := Median([]time.Duration{3 * time.Second, time.Second, 2 * time.Second}); got != 2*time.Second {
		t.Errorf("got %s", got)
	}
}

func TestMedianDoesNotSortItsInput(t *testing.T) {
	values := []int{3, 1, 2}
	Median(values)
	if values[0] != 3 {
		t.Errorf("the input was sorted: %v", values)
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		x, y             []float64
		slope, intercept float64
	}{
		{[]float64{20, 40, 80}, []float64{50, 90, 170}, 2, 10},
		{[]float64{0, 1, 2, 3}, []float64{1, 0, 4, 3}, 1, 0.5},
		{[]float64{1, 2}, []float64{5, 5}, 0, 5},
		{[]float64{1}, []float64{5}, 0, 0},
		{[]float64{2, 2}, []float64{1, 3}, 0, 0},
	} {
		slope, intercept := Fit(c.x, c.y)
		if math.Abs(slope-c.slope) > 1e-9 || math.Abs(intercept-c.intercept) > 1e-9 {
			t.Errorf("Fit(%v, %v) = %v, %v; want %v, %v", c.x, c.y, slope, intercept, c.slope, c.intercept)
		}
	}
}
