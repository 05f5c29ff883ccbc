// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"time"

	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// AsOfForms are what asOf takes, for the help of a flag.
const AsOfForms = "a time in RFC 3339, a local time such as '2026-01-31 11:00' or 2026-01-31, or an age such as 2h"

// localTimes are the forms of a time in the user's zone.
var localTimes = [...]string{"2006-01-02 15:04", time.DateOnly}

// AsOf reads a point in time in the past. now is the API server's: a time that it has not reached has no snapshot yet, so
// one in the future is a slip that would choose the newest one, from after the accident. A local time is shown with its zone.
func (f *Factory) AsOf(text string, now time.Time) (time.Time, error) {
	at, local, err := parseAsOf(text, now, f.Clock.Now().Location())
	if err == nil && local {
		Say(f.ErrOut, fmt.Sprintf("%s is %s", text, at.Format(time.RFC3339+" (MST)")))
	}
	return at, err
}

func parseAsOf(text string, now time.Time, zone *time.Location) (at time.Time, local bool, err error) {
	at, err = time.Parse(time.RFC3339, text)
	for i := 0; err != nil && i < len(localTimes); i++ {
		at, err = time.ParseInLocation(localTimes[i], text, zone)
		local = err == nil
	}
	if err != nil {
		age, err := schedule.ParseDuration(text)
		if err != nil {
			return at, false, fmt.Errorf("invalid --as-of %q: write %s", text, AsOfForms)
		}
		return now.Add(-age), false, nil
	}
	if at.After(now) {
		return at, local, fmt.Errorf("--as-of %s is in the future: it is %s now", text, Timestamp(now))
	}
	return at, local, nil
}
