// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"fmt"
	"strings"
)

// verdict is who, if anyone, has to refuse a value.
type verdict int

const (
	// valid: nobody.
	valid verdict = iota
	// refused: the API server.
	refused
	// invalid: the controller, which alone can see it.
	invalid
)

// value is a value at, or just beyond, an edge of what a field takes.
type value struct {
	// slug names it in a plan's id.
	slug    string
	value   any
	verdict verdict
}

// field is a field of the spec and its edges.
type field struct {
	// path is from spec on.
	path   string
	values []value
}

// of takes values that are their own slugs.
func of(v verdict, values ...any) []value {
	var all []value
	for _, x := range values {
		slug := fmt.Sprint(x)
		if slug == "" {
			slug = "empty"
		}
		all = append(all, value{slug: strings.ReplaceAll(slug, " ", "_"), value: x, verdict: v})
	}
	return all
}

func called(slug string, v verdict, x any) []value {
	return []value{{slug: slug, value: x, verdict: v}}
}

func join(lists ...[]value) []value {
	var all []value
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

const (
	largest = 2147483647
	beyond  = 2147483648
)

// badDurations are just beyond what a duration field takes.
func badDurations() []value {
	return join(of(refused, "", "0s", "-1s", "500ms", "100y1s", "1h1d", "10"), called("a-number", refused, int64(10)))
}

func duration(path string) field {
	return field{path: path, values: join(of(valid, "1s", "100y", "1y1w1d1h1m1s"), badDurations())}
}

func tier(name string) field {
	return field{path: "retention.keep." + name, values: join(of(valid, int64(1), int64(largest)), of(refused, int64(0), int64(-1), int64(beyond)))}
}

// fields are all of the spec's.
func fields() []field {
	all := []field{
		duration("snapshotInterval"),
		{path: "schedule", values: join(
			of(valid, "@hourly", "@yearly", "* * * * *", "59 23 31 12 6", "0 0 29 2 *", "0 0 , * FRI"),
			of(refused, "", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * * 7", "* * * *", "* * * * * *",
				"*/0 * * * *", "TZ=UTC 0 0 * * *", "@every 1h", "@reboot"),
			of(invalid, "0 0 30 2 *", "0 0 31 4,6,9,11 *", "30-10 * * * *", "0 0 * * FRI-MON", "0 0 , * *"),
		)},
		{path: "timeZone", values: join(
			of(valid, "UTC", "Europe/Oslo", "Australia/Lord_Howe", "Etc/GMT+12"),
			of(refused, "", "Local", "+02:00", "../etc/localtime", "Europe/"),
			called("257-characters", refused, strings.Repeat("A", 257)),
			of(invalid, "Europe/Atlantis"), called("256-characters", invalid, strings.Repeat("A", 256)),
		)},
		duration("snapshotTTL"),
		duration("startingDeadline"),
		{path: "jitter", values: join(of(valid, "1s", "5h59m59s"), of(invalid, "6h", "100y"), badDurations())},
		duration("readyDeadline"),
		{path: "suspend", values: join(of(valid, true, false), called("true-as-text", refused, "true"), of(refused, int64(1)))},
		{path: "deletionPolicy", values: join(of(valid, "Delete", "Orphan"), of(refused, "", "delete", "Keep"))},
		{path: "retention.minReady", values: join(of(valid, int64(0), int64(1), int64(largest)), of(refused, int64(-1), int64(beyond), 1.5), called("1-as-text", refused, "1"))},
		{path: "retention.maxCount", values: join(of(valid, int64(1), int64(2), int64(largest)), of(refused, int64(0), int64(-1), int64(beyond)))},
	}
	for _, name := range []string{"last", "hourly", "daily", "weekly", "monthly", "yearly"} {
		all = append(all, tier(name))
	}
	all = append(all,
		duration("retention.detached.snapshotTTL"),
		field{path: "retention.detached.minReady", values: join(of(valid, int64(0), int64(largest)), of(refused, int64(-1), int64(beyond)))},
	)
	return append(all, templateFields()...)
}

func templateFields() []field {
	const ours = "snapshots.mapcontroller.dev/hold"
	long := func(n int) string { return strings.Repeat("a", n) }
	return []field{
		{path: "snapshotTemplate.metadata.labels", values: join(
			called("none", valid, pairs()), called("longest", valid, pairs(long(253)+"/"+long(63), long(63))), called("most", valid, many(32)),
			called("ours", refused, pairs(ours, "x")), called("key-of-64", refused, pairs(long(64), "x")),
			called("value-of-64", refused, pairs("a", long(64))), called("value-with-blank", refused, pairs("a", "b c")),
			called("too-many", refused, many(33)),
		)},
		{path: "snapshotTemplate.metadata.annotations", values: join(
			called("none", valid, pairs()), called("any-value", valid, pairs("example.com/Note", "a: {b} ø")), called("most", valid, many(32)),
			called("ours", refused, pairs(ours, "x")), called("key-of-64", refused, pairs(long(64), "x")),
			called("too-many", refused, many(33)),
		)},
		{path: "snapshotTemplate.spec.volumeSnapshotClassName", values: join(
			of(valid, "fast"), called("253-characters", valid, strings.Repeat("a", 253)),
			of(refused, "", "Fast", "fast-"), called("254-characters", refused, strings.Repeat("a", 254)),
		)},
		{path: "selector", values: join(
			called("none", valid, map[string]any{}), called("label", valid, labels("app", "shop")),
			called("nothing", valid, labels("app", "other")),
			called("exists", valid, expression("app", "Exists")), called("not-in", valid, expression("app", "NotIn", "other")),
			called("in-nothing", refused, expression("app", "In")), called("exists-with-values", refused, expression("app", "Exists", "shop")),
			called("like", refused, expression("app", "Like", "shop")),
			called("label-with-blank", invalid, labels("app", "a b")), called("key-with-blank", invalid, labels("a p p", "shop")),
		)},
	}
}

func pairs(keysAndValues ...string) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		m[keysAndValues[i]] = keysAndValues[i+1]
	}
	return m
}

func many(n int) map[string]any {
	m := map[string]any{}
	for i := range n {
		m[fmt.Sprintf("k%d", i)] = "v"
	}
	return m
}

func labels(key, value string) map[string]any {
	return map[string]any{"matchLabels": pairs(key, value)}
}

func expression(key, operator string, values ...any) map[string]any {
	e := map[string]any{"key": key, "operator": operator}
	if len(values) > 0 {
		e["values"] = values
	}
	return map[string]any{"matchExpressions": []any{e}}
}
