// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"
)

// wall parses a wall time such as "2026-01-02 15:04".
func wall(t testing.TB, s string) time.Time {
	t.Helper()
	w, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestCronLineNextAndLast(t *testing.T) {
	tests := map[string]struct {
		line string
		from string // exclusive
		want []string
	}{
		"fixed time":                           {"30 2 * * *", "2026-01-01 02:30", []string{"2026-01-02 02:30", "2026-01-03 02:30"}},
		"list":                                 {"5,10 1,3 * * *", "2026-01-01 00:00", []string{"2026-01-01 01:05", "2026-01-01 01:10", "2026-01-01 03:05", "2026-01-01 03:10", "2026-01-02 01:05"}},
		"range":                                {"0 22-23 * * *", "2026-01-01 00:00", []string{"2026-01-01 22:00", "2026-01-01 23:00", "2026-01-02 22:00"}},
		"step":                                 {"*/25 0 * * *", "2026-01-01 00:00", []string{"2026-01-01 00:25", "2026-01-01 00:50", "2026-01-02 00:00"}},
		"step of a range":                      {"10-30/10 0 * * *", "2026-01-01 00:00", []string{"2026-01-01 00:10", "2026-01-01 00:20", "2026-01-01 00:30", "2026-01-02 00:10"}},
		"n/step goes up to the maximum":        {"50/5 23 * * *", "2026-01-01 00:00", []string{"2026-01-01 23:50", "2026-01-01 23:55", "2026-01-02 23:50"}},
		"a step as wide as the field":          {"0 */24 * * *", "2026-01-01 00:00", []string{"2026-01-02 00:00", "2026-01-03 00:00"}},
		"names in any case":                    {"0 0 * Feb THU", "2026-01-01 00:00", []string{"2026-02-05 00:00", "2026-02-12 00:00"}},
		"a range of names":                     {"0 0 * * mon-wed", "2026-01-01 00:00", []string{"2026-01-05 00:00", "2026-01-06 00:00", "2026-01-07 00:00", "2026-01-12 00:00"}},
		"0 is Sunday":                          {"0 0 * * 0", "2026-01-01 00:00", []string{"2026-01-04 00:00", "2026-01-11 00:00"}},
		"1/2 has no Sunday":                    {"0 0 * * 1/2", "2026-01-01 00:00", []string{"2026-01-02 00:00", "2026-01-05 00:00", "2026-01-07 00:00"}},
		"both days restricted: either matches": {"0 0 13 * fri", "2026-01-01 00:00", []string{"2026-01-02 00:00", "2026-01-09 00:00", "2026-01-13 00:00", "2026-01-16 00:00"}},
		"day of month with a bare star: both must match": {"0 0 * * fri", "2026-01-01 00:00", []string{"2026-01-02 00:00", "2026-01-09 00:00"}},
		"*/2 restricts, as for CronJob":                  {"0 0 */10 * fri", "2026-01-01 00:00", []string{"2026-01-02 00:00", "2026-01-09 00:00", "2026-01-11 00:00", "2026-01-16 00:00"}},
		"a question mark is a star":                      {"0 0 ? * fri", "2026-01-01 00:00", []string{"2026-01-02 00:00", "2026-01-09 00:00"}},
		"a star among others is a star":                  {"0 0 1,* * fri", "2026-01-01 00:00", []string{"2026-01-02 00:00", "2026-01-09 00:00"}},
		"a step of one leaves the star":                  {"0 0 */1 * fri", "2026-01-01 00:00", []string{"2026-01-02 00:00", "2026-01-09 00:00"}},
		"1/1 is no star":                                 {"0 0 1/1 * fri", "2026-01-01 00:00", []string{"2026-01-02 00:00", "2026-01-03 00:00"}},
		"*-5 is a star, as for CronJob":                  {"0 0 *-5 * fri", "2026-01-01 00:00", []string{"2026-01-02 00:00", "2026-01-09 00:00"}},
		"empty items are ignored":                        {",10,,20, 0 , * fri", "2026-01-01 00:00", []string{"2026-01-02 00:10", "2026-01-02 00:20", "2026-01-09 00:10"}},
		"leading zeros and a sign":                       {"007 +02 * * *", "2026-01-01 00:00", []string{"2026-01-01 02:07", "2026-01-02 02:07"}},
		"the widest step":                                {"*/9223372036854775807 * * * *", "2026-01-01 00:00", []string{"2026-01-01 01:00", "2026-01-01 02:00"}},
		"31st skips short months":                        {"0 0 31 * *", "2026-01-31 00:00", []string{"2026-03-31 00:00", "2026-05-31 00:00"}},
		"leap day":                                       {"0 0 29 2 *", "2026-01-01 00:00", []string{"2028-02-29 00:00", "2032-02-29 00:00"}},
		"leap day over 2100":                             {"0 0 29 2 *", "2096-02-29 00:00", []string{"2104-02-29 00:00"}},
		"over the end of a year":                         {"59 23 31 12 *", "2025-12-31 23:58", []string{"2025-12-31 23:59", "2026-12-31 23:59"}},
		"@hourly":                                        {"@hourly", "2026-01-01 00:00", []string{"2026-01-01 01:00", "2026-01-01 02:00"}},
		"@daily":                                         {"@daily", "2026-01-01 00:00", []string{"2026-01-02 00:00"}},
		"@weekly":                                        {"@weekly", "2026-01-01 00:00", []string{"2026-01-04 00:00", "2026-01-11 00:00"}},
		"@monthly":                                       {"@monthly", "2026-01-01 00:00", []string{"2026-02-01 00:00"}},
		"@yearly":                                        {"@yearly", "2026-01-01 00:00", []string{"2027-01-01 00:00"}},
		"spaces between and around":                      {"  0\t0  1 1 * ", "2026-01-01 00:00", []string{"2027-01-01 00:00"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l, err := parseCronLine(tc.line)
			if err != nil {
				t.Fatal(err)
			}
			at := wall(t, tc.from)
			for _, s := range tc.want {
				want := wall(t, s)
				got, ok := l.next(at)
				if !ok || !got.Equal(want) {
					t.Fatalf("next(%v) = %v, %v, want %v", at, got, ok, want)
				}
				for _, w := range []time.Time{got, got.Add(59 * time.Second)} {
					if back, ok := l.last(w); !ok || !back.Equal(want) {
						t.Fatalf("last(%v) = %v, %v, want %v", w, back, ok, want)
					}
				}
				if back, _ := l.last(got.Add(-1)); !back.Before(got) || at.Before(back) {
					t.Fatalf("last just before %v = %v, want one not after %v", got, back, at)
				}
				at = got
			}
		})
	}
}

func TestParseCronLineRejects(t *testing.T) {
	tests := map[string]struct{ line, wantErr string }{
		"empty":                     {"", "empty"},
		"blanks only":               {"  ", "found 0"},
		"too few fields":            {"0 0 * *", "found 4"},
		"a field of seconds":        {"0 30 2 * * *", "found 6"},
		"a zone":                    {"TZ=Europe/Oslo 30 2 * * *", "timeZone"},
		"a zone, long":              {"CRON_TZ=Europe/Oslo 30 2 * * *", "timeZone"},
		"a zone before a word":      {"TZ=UTC @daily", "timeZone"},
		"a zone alone":              {"TZ=UTC", "timeZone"}, // the parser would panic
		"a zone of five words":      {"TZ=UTC 2 * * *", "timeZone"},
		"a zone after a blank":      {" TZ=UTC 30 2 * * *", "timeZone"},
		"@every":                    {"@every 1h", "@hourly"},
		"@midnight":                 {"@midnight", "@hourly"},
		"@annually":                 {"@annually", "@hourly"},
		"@reboot":                   {"@reboot", "@hourly"},
		"@Daily":                    {"@Daily", "@hourly"},
		"a word after a blank":      {" @daily", "found 1"},
		"30 February":               {"0 0 30 2 *", "never fires"},
		"31 in short months":        {"0 0 31 4,6,9,11 *", "never fires"},
		"only a comma":              {", * * * *", "never fires"},
		"minute 60":                 {"60 0 * * *", "(60) above maximum (59)"},
		"hour 24":                   {"0 24 * * *", "(24) above maximum (23)"},
		"day 0":                     {"0 0 0 * *", "(0) below minimum (1)"},
		"day 32":                    {"0 0 32 * *", "(32) above maximum (31)"},
		"month 13":                  {"0 0 1 13 *", "(13) above maximum (12)"},
		"weekday 7":                 {"0 0 * * 7", "(7) above maximum (6)"},
		"a range up to 7":           {"0 0 * * 5-7", "(7) above maximum (6)"},
		"a name in the wrong field": {"0 0 mon * *", `"mon"`},
		"a long name":               {"0 0 * * monday", `"monday"`},
		"step zero":                 {"*/0 * * * *", "*/0"},
		"no step":                   {"*/ * * * *", `""`},
		"a step below zero":         {"*/-5 * * * *", "(-5)"},
		"two steps":                 {"*/2/2 * * * *", "*/2/2"},
		"a range backwards":         {"0 22-2 * * *", "22-2"},
		"a range without end":       {"0 2- * * *", `""`},
		"a range of three":          {"0 1-2-3 * * *", "1-2-3"},
		"a value below zero":        {"-5 * * * *", `""`},
		"Quartz's L":                {"0 0 L * *", `"L"`},
		"Quartz's #":                {"0 0 * * fri#3", `"fri#3"`},
		"Jenkins' H":                {"H * * * *", `"H"`},
		"a huge number":             {strings.Repeat("9", 40) + " * * * *", "out of range"},
		"a step too wide":           {"*/9223372036854775808 * * * *", "out of range"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parseCronLine(tc.line)
			if err == nil {
				t.Fatalf("parseCronLine(%q) succeeded", tc.line)
			}
			for _, part := range []string{fmt.Sprintf("%q", tc.line), tc.wantErr, `"30 2 * * *"`} { // the message shows the value and a valid one
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q lacks %q", err, part)
				}
			}
		})
	}
}

// drawField draws a field of a cron line with items of every form.
func drawField(t *rapid.T, label string, low, high int) string {
	value := rapid.IntRange(low, high)
	items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		a, b := value.Draw(t, "a"), value.Draw(t, "b")
		a, b = min(a, b), max(a, b)
		step := rapid.IntRange(1, 70).Draw(t, "step")
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 1:
			return fmt.Sprintf("%d-%d", a, b)
		case 2:
			return fmt.Sprintf("%d-%d/%d", a, b, step)
		case 3:
			return fmt.Sprintf("*/%d", step)
		case 4:
			return fmt.Sprintf("%d/%d", a, step)
		default:
			return fmt.Sprint(a)
		}
	}), 1, 3).Draw(t, label)
	switch rapid.IntRange(0, 5).Draw(t, label+" star") {
	case 0:
		return "*"
	case 1:
		return "?"
	case 2:
		items = append(items, "*")
	}
	return strings.Join(items, ",")
}

func drawCronLine(t *rapid.T) string {
	return strings.Join([]string{
		drawField(t, "minute", 0, 59), drawField(t, "hour", 0, 23),
		drawField(t, "day", 1, 28), drawField(t, "month", 1, 12), drawField(t, "weekday", 0, 6),
	}, " ")
}

// CronJob's parser has its own Next. It has nothing like last, which is right if
// it is a firing, at or before the time, and the next firing after it is later.
func TestCronLineAgreesWithCronJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawCronLine(t)
		l, err := parseCronLine(text)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := cron.ParseStandard(text)
		if err != nil {
			t.Fatal(err)
		}
		other := parsed.(*cron.SpecSchedule)
		other.Location = time.UTC
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "from"), 0).UTC()
		for range 5 {
			got, _ := l.next(at)
			if want := other.Next(at); !got.Equal(want) {
				t.Fatalf("%q: next(%v) = %v, CronJob has %v", text, at, got, want)
			}
			back, _ := l.last(at)
			if back.After(at) || !other.Next(back.Add(-1)).Equal(back) || !other.Next(back).After(at) {
				t.Fatalf("%q: last(%v) = %v, CronJob fires at %v and %v",
					text, at, back, other.Next(back.Add(-1)), other.Next(back))
			}
			at = got
		}
	})
}

func TestMacrosMeanTheSameAsInCronJob(t *testing.T) {
	for word, text := range macros {
		want, err := cron.ParseStandard(word)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cron.ParseStandard(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v to CronJob, and %q is %+v, %v", word, want, text, got, err)
		}
	}
}
