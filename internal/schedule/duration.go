// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// maxDuration is the longest duration that the contract takes: 100y of 365d.
const maxDuration = 100 * 365 * 24 * time.Hour

// ParseDuration reads a duration of the spec: units y w d h m s, the largest
// first, each at most once, as Prometheus writes them (1d = 24h, 1w = 7d,
// 1y = 365d). The result is a whole number of seconds between 1s and 100y; all
// else is an error that shows a right value.
func ParseDuration(s string) (time.Duration, error) {
	d, err := model.ParseDuration(s)
	switch {
	case err == nil && strings.Contains(s, "ms"):
		err = errors.New("milliseconds are too fine, the least is 1s")
	case err == nil && d == 0:
		err = errors.New("it must be longer than zero")
	case err == nil && time.Duration(d) > maxDuration:
		err = errors.New("the longest is 100y")
	}
	if err != nil {
		return 0, fmt.Errorf("duration %q: %w; write for example 90s, 6h, 10d or 1d12h (units y w d h m s, largest first)", s, err)
	}
	return time.Duration(d), nil
}
