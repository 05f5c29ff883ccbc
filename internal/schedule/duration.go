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

// maxDuration is the longest duration allowed: 100y of 365d.
const maxDuration = 100 * 365 * 24 * time.Hour

// ParseDuration parses a duration of the spec: units y w d h m s, the largest
// first, each at most once, as Prometheus writes them (1d = 24h, 1w = 7d,
// 1y = 365d). The result is a whole number of seconds from 1s to 100y. The error
// shows valid values.
func ParseDuration(s string) (time.Duration, error) {
	d, err := model.ParseDuration(s)
	switch {
	case err == nil && strings.Contains(s, "ms"):
		err = errors.New("milliseconds are not allowed, the minimum is 1s")
	case err == nil && d == 0:
		err = errors.New("must be longer than zero")
	case err == nil && time.Duration(d) > maxDuration:
		err = errors.New("the maximum is 100y")
	}
	if err != nil { // the library's names the value, too
		why := strings.TrimSuffix(strings.TrimSuffix(err.Error(), fmt.Sprintf(" in duration %q", s)), fmt.Sprintf(": %q", s))
		return 0, fmt.Errorf("duration %q: %s; write for example 90s, 6h, 10d or 1d12h (units y w d h m s, largest first)", s, why)
	}
	return time.Duration(d), nil
}
