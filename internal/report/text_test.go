// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/report/reporttest"
)

func TestTextIsOneSafeLineWithinItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, limit := reporttest.Hostile().Draw(t, "text"), rapid.IntRange(3, 1100).Draw(t, "limit")
		got := report.Text(text, limit)
		if why := reporttest.Unsafe(got); why != "" || len(got) > limit {
			t.Errorf("%d bytes of at most %d, %s: %q", len(got), limit, why, got)
		}
		if again := report.Text(got, limit); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	})
}

func TestEscapeKeepsLinesAndTheMeaningOfJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := reporttest.Hostile().Draw(t, "text")
		got := report.Escape(text)
		if why := reporttest.Unsafe(strings.NewReplacer("\n", "", "\t", "").Replace(got)); why != "" {
			t.Errorf("%s: %q", why, got)
		}
		if strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("%q has other lines than %q", got, text)
		}
		encoded, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var want, decoded string
		if err := errors.Join(json.Unmarshal(encoded, &want), json.Unmarshal([]byte(report.Escape(string(encoded))), &decoded)); err != nil || decoded != want {
			t.Errorf("%q became %q: %v", want, decoded, err)
		}
	})
}

func TestText(t *testing.T) {
	for name, tc := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"plain":                          {"denied: data-0 exceeds the quota", 100, "denied: data-0 exceeds the quota"},
		"letters of any script":          {"Ærlig talt, 日本語 😀", 100, "Ærlig talt, 日本語 😀"},
		"line breaks":                    {"a\nb\r\nc\u2028d\u0085e", 100, "a b  c d e"},
		"a color":                        {"\x1b[31mred", 100, `\u001b[31mred`},
		"C1 and DEL":                     {"\u009b31m\x7f", 100, `\u009b31m\u007f`},
		"a change of direction":          {"exe\u202etxt", 100, `exe\u202etxt`},
		"no width":                       {"a\u200bb\u2060c\ufeffd\u00ade\u034ff\ufe0f", 100, `a\u200bb\u2060c\ufeffd\u00ade\u034ff\ufe0f`},
		"tags":                           {"a\U000e0041", 100, `a\udb40\udc41`},
		"bytes that are not UTF-8":       {"a\xff\xfeb", 100, "a�b"},
		"just fits":                      {strings.Repeat("x", 700), 700, strings.Repeat("x", 700)},
		"one byte too long":              {strings.Repeat("x", 701), 700, strings.Repeat("x", 697) + "…"},
		"not cut in a letter":            {strings.Repeat("å", 400), 700, strings.Repeat("å", 348) + "…"},
		"too long because it is escaped": {strings.Repeat("\x1b", 200), 700, strings.Repeat(`\u001b`, 116) + `\…`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := report.Text(tc.text, tc.limit); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestListCountsWhatDoesNotFit(t *testing.T) {
	for name, tc := range map[string]struct {
		names []string
		want  string
	}{
		"none":     {nil, ""},
		"one":      {[]string{"ebs.csi.aws.com"}, "ebs.csi.aws.com"},
		"all fit":  {[]string{"a", "b", "c"}, "a, b, c"},
		"some fit": {[]string{"a", "b", strings.Repeat("c", 20), strings.Repeat("d", 20)}, "a, b, cccccccccccccccccccc and 1 more"},
		"too long": {[]string{strings.Repeat("c", 60), strings.Repeat("d", 60)}, strings.Repeat("c", 18) + "… and 1 more"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := report.List(tc.names, 40); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestListIsWithinItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names, limit := rapid.SliceOf(reporttest.Hostile()).Draw(t, "names"), rapid.IntRange(30, 300).Draw(t, "limit")
		if got := report.List(names, limit); len(got) > limit || reporttest.Unsafe(got) != "" {
			t.Errorf("%d bytes of at most %d: %q", len(got), limit, got)
		}
	})
}

func TestSettledOmitsWhatDiffersBetweenAttempts(t *testing.T) {
	const format = `read tcp 10.0.0.1:%d->10.0.0.2:443: volumesnapshots "%s" is broken`
	a := report.Settled(fmt.Errorf(format, 51234, "data-1"), "data-1", 100)
	if b := report.Settled(fmt.Errorf(format, 40000, "data-2"), "data-2", 100); a != b || a != "read tcp 10.0.0.2:443: volumesnapshots is broken" {
		t.Errorf("%q and %q", a, b)
	}
}
