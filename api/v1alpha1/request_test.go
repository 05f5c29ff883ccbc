// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestRequestOf(t *testing.T) {
	noon := time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)
	names := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint("data-", i))
		}
		return strings.Join(all, ",")
	}
	tests := map[string]struct {
		value string
		want  Request // zero: malformed
	}{
		"for all":                   {"2026-06-15T12:00:00Z", Request{At: noon}},
		"in another zone":           {"2026-06-15T14:00:00+02:00", Request{At: noon}},
		"for one":                   {"2026-06-15T12:00:00Z data-0", Request{noon, []string{"data-0"}}},
		"for two":                   {"2026-06-15T12:00:00Z data-0,db.old", Request{noon, []string{"data-0", "db.old"}}},
		"for as many as may be":     {"2026-06-15T12:00:00Z " + names(100), Request{noon, strings.Split(names(100), ",")}},
		"the longest name":          {"2026-06-15T12:00:00Z " + strings.Repeat("a", 253), Request{noon, []string{strings.Repeat("a", 253)}}},
		"empty":                     {"", Request{}},
		"not a time":                {"now", Request{}},
		"a name only":               {"data-0", Request{}},
		"a trailing space":          {"2026-06-15T12:00:00Z ", Request{}},
		"a leading space":           {" 2026-06-15T12:00:00Z", Request{}},
		"two spaces":                {"2026-06-15T12:00:00Z  data-0", Request{}},
		"a space between names":     {"2026-06-15T12:00:00Z data-0, data-1", Request{}},
		"a trailing comma":          {"2026-06-15T12:00:00Z data-0,", Request{}},
		"not a name":                {"2026-06-15T12:00:00Z Data_0", Request{}},
		"a name with a dash at end": {"2026-06-15T12:00:00Z data-", Request{}},
		"a name that is too long":   {"2026-06-15T12:00:00Z " + strings.Repeat("a", 254), Request{}},
		"too many names":            {"2026-06-15T12:00:00Z " + names(101), Request{}},
		"too long":                  {"2026-06-15T12:00:00." + strings.Repeat("0", 40_000) + "Z", Request{}},
		"not UTF-8":                 {"2026-06-15T12:00:00Z \xff", Request{}},
		"escapes":                   {"2026-06-15T12:00:00Z \x1b[2J", Request{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := RequestOf(map[string]string{AnnotationRequestedAt: tc.value})
			if (err != nil) != tc.want.At.IsZero() || !got.At.Equal(tc.want.At) || !reflect.DeepEqual(got.Claims, tc.want.Claims) {
				t.Fatalf("got %v, %v, want %v", got, err, tc.want)
			}
			if err != nil {
				if strings.Contains(err.Error(), "\x1b") || strings.Contains(err.Error(), "\xff") || len(err.Error()) > 200 {
					t.Errorf("the error repeats the value: %q", err)
				}
				return
			}
			again, err := RequestOf(map[string]string{AnnotationRequestedAt: got.String()})
			if err != nil || !again.At.Equal(got.At) || !reflect.DeepEqual(again.Claims, got.Claims) {
				t.Errorf("String returns %q, read as %v, %v", got, again, err)
			}
		})
	}
}

func TestRequestIsOfThePVCsThatItNames(t *testing.T) {
	none, all, one := Request{}, Request{At: time.Unix(1, 0)}, Request{At: time.Unix(1, 0), Claims: []string{"data-0"}}
	if none.Of("data-0") || !all.Of("data-0") || !one.Of("data-0") || one.Of("data-1") {
		t.Errorf("none %t, all %t, one %t, other %t", none.Of("data-0"), all.Of("data-0"), one.Of("data-0"), one.Of("data-1"))
	}
	if got, err := RequestOf(nil); err != nil || !got.At.IsZero() {
		t.Errorf("without the annotation: %v, %v", got, err)
	}
}
