// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"testing"
	"time"
)

// Contract: ONE-3.
func TestState(t *testing.T) {
	tests := map[string]struct {
		snapshot  Snapshot
		want      State
		wantUncut bool
	}{
		"ready":                                     {ready(time.Minute), Ready, false},
		"ready with an old error":                   {ready(2 * time.Hour).failing(), Ready, false},
		"ready without a creation time":             {readyUncut(2 * time.Hour), Ready, false},
		"uncut and younger than readyDeadline":      {uncut(time.Hour - 1), InProgress, true},
		"uncut in error and younger":                {uncut(time.Minute).failing(), InProgress, true},
		"uncut and as old as readyDeadline":         {uncut(time.Hour), Failed, true},
		"uncut in error and older":                  {uncut(2 * time.Hour).failing(), Failed, true},
		"cut, without an error, young":              {uploading(time.Minute), InProgress, false},
		"cut, without an error, old":                {uploading(30 * day), InProgress, false},
		"cut, in error and young":                   {inError(time.Hour - 1), Retrying, false},
		"cut, in error and as old as readyDeadline": {inError(time.Hour), Failed, false},
		"cut late, in error: counts from creationTimestamp": {
			inError(time.Hour).cut(noon.Add(-time.Minute)), Failed, false,
		},
		"imported, young":                     {imported(time.Minute), Retrying, false},
		"imported, old and in error":          {imported(2 * time.Hour).failing(), Retrying, false},
		"imported, with a creation time, old": {imported(2 * time.Hour).cut(noon), Retrying, false},
		"imported and ready":                  {importedReady(2 * time.Hour), Ready, false},
		"imported and terminating":            {imported(2 * time.Hour).deleting(), Terminating, false},
		"ready and terminating":               {ready(time.Minute).deleting(), Terminating, false},
		"uncut and terminating":               {uncut(time.Minute).deleting(), Terminating, true},
		"uploading and terminating":           {uploading(time.Minute).deleting(), Terminating, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.snapshot.State(noon, time.Hour); got != tc.want {
				t.Errorf("State = %v, want %v", got, tc.want)
			}
			if got := tc.snapshot.Uncut(); got != tc.wantUncut {
				t.Errorf("Uncut = %v, want %v", got, tc.wantUncut)
			}
			if got := tc.snapshot.IsReady(); got != (tc.want == Ready) {
				t.Errorf("Ready = %v, State %v", got, tc.want)
			}
		})
	}
}
