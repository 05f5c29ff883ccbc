// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// value is a boundary value that the API server accepts.
type value struct {
	// slug names it in a plan's ID.
	slug  string
	value any
	// invalid is set if the controller must reject it with InvalidSpec.
	invalid bool
}

func named(slug string, x any) value { return value{slug: slug, value: x} }

// plain is a value that is its own slug.
func plain(x any) value { return named(strings.ReplaceAll(fmt.Sprint(x), " ", "_"), x) }

func invalid(x any) value {
	v := plain(x)
	v.invalid = true
	return v
}

// field is a field of the spec with its boundary values.
type field struct {
	// path starts below spec.
	path   string
	values []value
}

// newField returns a field with its values, valid ones first. A plain one is given as it is.
func newField(path string, values ...any) field {
	f := field{path: path}
	for _, x := range values {
		v, ok := x.(value)
		if !ok {
			v = plain(x)
		}
		f.values = append(f.values, v)
	}
	return f
}

const largest = int64(math.MaxInt32)

func duration(path string) field { return newField(path, "1s", "100y", "1y1w1d1h1m1s") }

// fields returns every field of the spec. Plan IDs and pairs depend on the order of the fields and of their values.
func fields() []field {
	long := func(n int) string { return strings.Repeat("a", n) }
	all := []field{
		duration("snapshotInterval"),
		newField("schedule", "@hourly", "@yearly", "* * * * *", "59 23 31 12 6", "0 0 29 2 *", "0 0 , * FRI",
			invalid("0 0 30 2 *"), invalid("0 0 31 4,6,9,11 *"), invalid("30-10 * * * *"), invalid("0 0 * * FRI-MON"), invalid("0 0 , * *")),
		newField("timeZone", "UTC", "Europe/Oslo", "Australia/Lord_Howe", "Etc/GMT+12", invalid("Europe/Atlantis"),
			value{slug: "64-characters", value: strings.Repeat("A", 64), invalid: true}),
		duration("snapshotTTL"),
		duration("startingDeadline"),
		newField("jitter", "1s", "5h59m59s", invalid("6h"), invalid("100y")),
		duration("readyDeadline"),
		newField("suspend", true, false),
		newField("deletionPolicy", "Delete", "Orphan"),
		newField("retention.minReady", int64(0), int64(1), largest),
		newField("retention.maxCount", int64(1), int64(2), largest),
	}
	for _, name := range []string{"last", "hourly", "daily", "weekly", "monthly", "yearly"} {
		all = append(all, newField("retention.keep."+name, int64(1), largest))
	}
	return append(all,
		duration("retention.detached.snapshotTTL"),
		newField("retention.detached.minReady", int64(0), largest),
		newField("snapshotTemplate.metadata.labels",
			named("none", pairs()), named("longest", pairs(long(253)+"/"+long(63), long(63))), named("most", many(32))),
		newField("snapshotTemplate.metadata.annotations", named("none", pairs()), named("any-value", pairs("example.com/Note", "a: {b} ø")),
			named("longest", pairs(long(253)+"/"+long(63), long(1024))), named("most", many(32))),
		newField("snapshotTemplate.spec.volumeSnapshotClassName", "fast", named("253-characters", long(253))),
		newField("selector",
			named("none", map[string]any{}), named("label", labels("app", "shop")), named("nothing", labels("app", "other")),
			named("exists", expression("app", "Exists")), named("not-in", expression("app", "NotIn", "other")),
			named("longest", expression(long(253)+"/"+long(63), "NotIn", long(63))), named("most", largestSelector())),
	)
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

// largestSelector returns a selector with as many requirements and values as are allowed, which selects app=shop.
func largestSelector() map[string]any {
	others := make([]any, 64)
	for i := range others {
		others[i] = fmt.Sprintf("other%d", i)
	}
	one := expression("app", "NotIn", others...)["matchExpressions"].([]any)
	return map[string]any{"matchLabels": pairs("app", "shop"), "matchExpressions": slices.Repeat(one, 16)}
}

func expression(key, operator string, values ...any) map[string]any {
	e := map[string]any{"key": key, "operator": operator}
	if len(values) > 0 {
		e["values"] = values
	}
	return map[string]any{"matchExpressions": []any{e}}
}
