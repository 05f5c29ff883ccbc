// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"
	"time"
)

// Contract: API-3.
func TestParseDurationAcceptsWhatTheAPIDocuments(t *testing.T) {
	const day = 24 * time.Hour
	tests := map[string]struct {
		in      string
		want    time.Duration
		wantErr string // part of the message
	}{
		"seconds":              {in: "90s", want: 90 * time.Second},
		"the minimum":          {in: "1s", want: time.Second},
		"hours":                {in: "6h", want: 6 * time.Hour},
		"a day is 24h":         {in: "10d", want: 10 * day},
		"a week is 7d":         {in: "1w", want: 7 * day},
		"a year is 365d":       {in: "1y", want: 365 * day},
		"two units":            {in: "1d12h", want: 36 * time.Hour},
		"all units":            {in: "1y1w1d1h1m1s", want: 373*day + time.Hour + time.Minute + time.Second},
		"a zero among others":  {in: "0d5s", want: 5 * time.Second},
		"the maximum":          {in: "100y", want: 100 * 365 * day},
		"over 100y":            {in: "100y1s", wantErr: "the maximum is 100y"},
		"overflow":             {in: "300y", wantErr: "out of range"},
		"too many digits":      {in: strings.Repeat("9", 99) + "s", wantErr: "not a valid"},
		"zero":                 {in: "0s", wantErr: "longer than zero"},
		"zero without unit":    {in: "0", wantErr: "longer than zero"},
		"negative":             {in: "-1h", wantErr: "not a valid"},
		"empty":                {in: "", wantErr: "empty"},
		"milliseconds":         {in: "500ms", wantErr: "milliseconds"},
		"seconds and ms":       {in: "1s500ms", wantErr: "milliseconds"},
		"no unit":              {in: "15", wantErr: "not a valid"},
		"unit only":            {in: "h", wantErr: "not a valid"},
		"unknown unit":         {in: "3M", wantErr: `duration "3M": unknown unit "M"; write`},
		"smallest first":       {in: "12h1d", wantErr: "not a valid"},
		"a unit twice":         {in: "1h1h", wantErr: "not a valid"},
		"a fraction":           {in: "1.5h", wantErr: "unknown unit"},
		"a space inside":       {in: "1d 12h", wantErr: "unknown unit"},
		"spaces around":        {in: " 1d", wantErr: "not a valid"},
		"a plus":               {in: "+1h", wantErr: "not a valid"},
		"Go's own microsecond": {in: "5µs", wantErr: "unknown unit"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseDuration(tc.in)
			if tc.wantErr == "" {
				if err != nil || got != tc.want {
					t.Errorf("ParseDuration(%q) = %v, %v, want %v", tc.in, got, err, tc.want)
				}
				return
			}
			if err == nil {
				t.Fatalf("ParseDuration(%q) = %v, want an error", tc.in, got)
			}
			for _, part := range []string{tc.wantErr, "1d12h"} { // the message shows a valid value
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q lacks %q", err, part)
				}
			}
		})
	}
}
