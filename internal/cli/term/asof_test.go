// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
)

// Contract: CLI-4.
func TestPointInTime(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	oslo, err := time.LoadLocation("Europe/Oslo")
	if err != nil {
		t.Fatal(err)
	}
	for text, c := range map[string]struct{ want, says, fails string }{
		"2026-11-28T11:00:00Z":      {want: "2026-11-28T11:00:00Z"},
		"2026-11-28T12:00:00+01:00": {want: "2026-11-28T11:00:00Z"},
		"2026-11-28 11:00":          {want: "2026-11-28T10:00:00Z", says: "2026-11-28 11:00 is 2026-11-28T11:00:00+01:00 (CET)\n"},
		"2026-07-01":                {want: "2026-06-30T22:00:00Z", says: "2026-07-01 is 2026-07-01T00:00:00+02:00 (CEST)\n"},
		"2h":                        {want: "2026-11-28T10:00:00Z"},
		"1d12h":                     {want: "2026-11-27T00:00:00Z"},
		"2026-11-28T12:00:00Z":      {want: "2026-11-28T12:00:00Z"},
		"2026-11-28T12:00:01Z":      {fails: "--as-of 2026-11-28T12:00:01Z is in the future: it is 2026-11-28T12:00:00Z now"},
		"2036-11-28T11:00:00Z":      {fails: "is in the future"},
		"2026-11-28 14:00":          {fails: "is in the future"},
		"2026-11-29":                {fails: "is in the future"},
		"2026-13-01":                {fails: "write a time in RFC 3339, a local time such as"},
		"-2h":                       {fails: "write a time in RFC 3339"},
		"yesterday":                 {fails: `invalid --as-of "yesterday": write a time in RFC 3339`},
		"":                          {fails: "write a time in RFC 3339"},
	} {
		t.Run(text, func(t *testing.T) {
			var said bytes.Buffer
			f := &Factory{IOStreams: genericiooptions.IOStreams{ErrOut: &said}, Clock: clocktesting.NewFakePassiveClock(now.In(oslo))}
			at, err := f.AsOf(text, now)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %s, %v", at, err)
				}
				return
			}
			if err != nil || Timestamp(at) != c.want || said.String() != c.says {
				t.Errorf("got %s, %v, and %q", Timestamp(at), err, said.String())
			}
		})
	}
}
